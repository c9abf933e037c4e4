// A Jenkinsfile on this machine, by the Groovy that Jenkins has (2.4): the steps that bitgate's library uses.
//     groovy .ci/local/jenkins.groovy JENKINSFILE LIBRARY WORK timer|change
// LIBRARY holds vars/*.groovy. CHECKOUT is a command that fills the folder it is given.
import groovy.json.JsonSlurperClassic
import org.codehaus.groovy.control.CompilerConfiguration

class State {
    static File work
    static boolean timer
    static String result = 'SUCCESS'
    static int nodes = 0
    static List folders = []
    static List environment = []
    static File folder() { folders.last() as File }
}

abstract class Steps extends Script {
    def scm = null
    def env = [BUILD_TAG: 'jenkins-local-1']
    def currentBuild = [getBuildCauses: { String kind -> State.timer ? [kind] : [] }]

    def properties(List all) {}
    def pipelineTriggers(List all) {}
    def cron(String when) {}

    def stage(String name, Closure body) {
        println "=== stage ${name}"
        body()
    }

    def node(String label, Closure body) {
        State.folders << new File(State.work, "node-${++State.nodes}")
        State.folder().mkdirs()
        try { body() } finally { State.folders.pop() }
    }

    def deleteDir() {
        State.folder().deleteDir()
        State.folder().mkdirs()
    }

    def checkout(whatever) { command(System.getenv('CHECKOUT').split(' ').toList() + [State.folder().path], State.work) }

    def withEnv(List stated, Closure body) {
        State.environment << stated
        try { body() } finally { State.environment.pop() }
    }

    def timeout(Map stated, Closure body) { body() }

    def sh(String line) {
        println "    \$ ${line}"
        command(['bash', '-e', '-c', line], State.folder())
    }

    void command(List words, File folder) {
        def builder = new ProcessBuilder(words as String[]).directory(folder).inheritIO()
        builder.environment().putAll([JENKINS_URL: 'local', BUILD_NUMBER: '1'])
        State.environment.flatten().each { builder.environment().put(*it.toString().split('=', 2)) }
        int code = builder.start().waitFor()
        if (code) { throw new Exception("ended with ${code}: ${words.last()}") }
    }

    def readJSON(Map stated) { new JsonSlurperClassic().parseText(new File(State.folder(), stated.file).text) }

    def stash(Map stated) { copy(State.folder(), stashFolder(stated.name), stated.includes - '/**', stated.allowEmpty ?: false) }

    def unstash(String name) {
        if (!stashFolder(name).isDirectory()) { throw new Exception("there is no stash ${name}") }
        stashFolder(name).listFiles().each { copy(stashFolder(name), State.folder(), it.name, false) }
    }

    File stashFolder(name) { new File(State.work, "stash/${name}") }

    void copy(File from, File to, String name, boolean mayBeEmpty) {
        to.mkdirs()
        if (!new File(from, name).exists()) {
            if (mayBeEmpty) { return }
            throw new Exception("nothing to keep: ${name}")
        }
        command(['cp', '-a', new File(from, name).path, to.path], State.work)
    }

    def parallel(Map branches) {
        boolean failFast = branches.remove('failFast')
        def errors = [:]
        branches.each { name, body ->
            try {
                body()
                println "=== ${name}: green"
            } catch (Exception error) {
                println "=== ${name}: ${error.message}"
                errors[name] = error.message
            }
        }
        if (errors) { throw new Exception(errors.toString()) }
    }

    def catchError(Map stated, Closure body) {
        try { body() } catch (Exception error) {
            println "ERROR: ${error.message}"
            State.result = stated.buildResult
        }
    }

    def junit(Map stated) {
        def names = new FileNameFinder().getFileNames(State.folder().path, stated.testResults)
        if (!names && !stated.allowEmptyResults) { throw new Exception("no JUnit file ${stated.testResults}") }
        names.each { name ->
            def suites = new XmlSlurper().parse(new File(name))
            println "JUnit: ${suites.@tests} tests, ${suites.@failures} failures, ${suites.@errors} errors"
        }
    }

    def archiveArtifacts(Map stated) { copy(State.folder(), stashFolder('archive'), stated.artifacts - '/**', stated.allowEmptyArchive ?: false) }
}

def (jenkinsfile, library, work, cause) = args.toList()
State.work = new File(work).absoluteFile
State.timer = cause == 'timer'
def shell = { Binding binding ->
    new GroovyShell(getClass().classLoader, binding, new CompilerConfiguration(scriptBaseClass: Steps.name))
}
def names = new Binding()
new File(library, 'vars').listFiles().each { file ->
    names.setVariable(file.name - '.groovy', shell(new Binding()).parse(file))
}
// `_` stands for what an annotation is put on; nothing but Jenkins knows @Library.
def text = new File(jenkinsfile).text.replaceAll(/(?m)^@Library\(.*$/, '')
try {
    shell(names).evaluate(text, 'Jenkinsfile')
} catch (Exception error) {
    println "ERROR: ${error.message}"
    State.result = 'FAILURE'
}
println "=== ${State.result}"
System.exit(State.result == 'SUCCESS' ? 0 : 1)
