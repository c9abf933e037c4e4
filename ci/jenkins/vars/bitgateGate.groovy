// A change beside its base, timed in turns on one machine: red if it is slower, twice.
//     bitgateGate(sweep: 'bwd_data_strided', target: 'gfx942', label: 'mi300')
// The machine of the label should do nothing else meanwhile. `base` is a commit, or a branch as the change left it: that
// of the change, if nothing is said.
def call(Map options) {
    String base = options.base ?: (env.CHANGE_TARGET ? "origin/${env.CHANGE_TARGET}" : 'origin/HEAD')
    List stated = [
        "SWEEP=${options.sweep}",
        "TARGET=${options.target}",
        "BASE=${base}",
        "BITGATE=${options.bitgate ?: 'bitgate'}",
        'BITGATE_OUT=out',
    ]
    stage('gate') {
        node(options.label ?: 'linux') {
            // An agent's folder still holds the results of builds before.
            deleteDir()
            checkout scm
            withEnv(stated) {
                timeout(time: options.minutes ?: 60, unit: 'MINUTES') {
                    try {
                        sh 'pip install "$BITGATE"'
                        sh 'mkdir -p out'
                        sh 'bitgate bench --gate --base "$BASE" --sweep "$SWEEP" --target "$TARGET" --markdown out/gate.md'
                    } finally {
                        junit testResults: "out/${options.target}/bench.junit.xml", allowEmptyResults: true
                        archiveArtifacts artifacts: 'out/**', allowEmptyArchive: true
                    }
                }
            }
        }
    }
}
