// One tier on every target that a Jenkins pool runs: plan, one branch a shard, one report of all.
//     bitgate(tier: 'regression', shards: '2', bitgate: 'bitgate', label: 'linux')
// Needs the plugins Pipeline, Pipeline Utility Steps, JUnit and, for pools with an image, Docker Pipeline.
// The agents' Python takes what pip installs.
def call(Map options = [:]) {
    String tier = options.tier ?: 'smoke'
    String label = options.label ?: 'linux'
    List common = [
        "TIER=${tier}",
        "SHARDS=${options.shards ?: '1'}",
        "BITGATE=${options.bitgate ?: 'bitgate'}",
        "BITGATE_RUN_ID=${env.BUILD_TAG}",
    ]
    List cells = []

    stage('plan') {
        node(label) {
            fresh()
            withEnv(common) {
                timeout(time: 30, unit: 'MINUTES') {
                    sh 'pip install "$BITGATE"'
                    sh 'mkdir -p plan'
                    sh 'bitgate ci matrix --tier "$TIER" --shards "$SHARDS" --for jenkins --out plan/matrix.json > plan/jobs'
                    sh 'bitgate ci plan --tier "$TIER" --shards "$SHARDS" --matrix plan/matrix.json --out plan/plan.json'
                }
            }
            stash name: 'plan', includes: 'plan/**'
            cells = readJSON(file: 'plan/jobs')
        }
    }

    stage('run') {
        Map branches = [failFast: false]
        cells.each { cell ->
            branches["${cell.env} ${cell.shard}".toString()] = { shard(cell, common) }
        }
        // A red shard is told of by the merge, which is to come whatever happens here.
        catchError(buildResult: 'FAILURE', stageResult: 'FAILURE') {
            parallel branches
        }
    }

    stage('merge') {
        node(label) {
            fresh()
            unstash 'plan'
            sh 'mkdir -p out'
            cells.each { cell ->
                catchError(buildResult: 'FAILURE', stageResult: 'FAILURE') {
                    unstash stashed(cell)
                }
            }
            withEnv(common) {
                try {
                    sh 'pip install "$BITGATE"'
                    sh 'bitgate ci merge out --matrix plan/matrix.json --plan plan/plan.json --out merged'
                } finally {
                    junit testResults: 'merged/junit.xml', allowEmptyResults: true
                    archiveArtifacts artifacts: 'merged/**', allowEmptyArchive: true
                }
            }
        }
    }
}

private void fresh() {
    // An agent's folder still holds the results of builds before.
    deleteDir()
    checkout scm
}

private void shard(cell, List common) {
    node(cell.label) {
        fresh()
        unstash 'plan'
        withEnv(common + ["TARGET=${cell.target}", "SHARD=${cell.shard}", 'BITGATE_OUT=out']) {
            timeout(time: cell.minutes, unit: 'MINUTES') {
                inImage(cell) {
                    try {
                        sh 'pip install "$BITGATE"'
                        sh 'bitgate run --tier "$TIER" --target "$TARGET" --plan plan/plan.json --shard "$SHARD"'
                    } finally {
                        stash name: stashed(cell), includes: 'out/**', allowEmpty: true
                    }
                }
            }
        }
    }
}

private void inImage(cell, Closure body) {
    if (cell.image) {
        docker.image(cell.image).inside(cell.docker) { body() }
    } else {
        body()
    }
}

private String stashed(cell) {
    return "results-${cell.target}-${cell.part}".toString()
}
