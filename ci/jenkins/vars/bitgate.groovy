// One tier on every target that a Jenkins pool runs: plan, one build a target, one branch a shard, one report of all. For
// a change only the cases that it can turn red.
//     bitgate(tier: 'regression', shards: '2', bitgate: 'bitgate', label: 'linux', history: 'postgresql://...', notify: '')
// Needs the plugins Pipeline, Pipeline Utility Steps, JUnit and, for pools with an image, Docker Pipeline.
// The agents' Python takes what pip installs.
def call(Map options = [:]) {
    String tier = options.tier ?: 'smoke'
    String label = options.label ?: 'linux'
    List common = [
        "TIER=${tier}",
        "SHARDS=${options.shards ?: '1'}",
        "BITGATE=${options.bitgate ?: 'bitgate'}",
        "HISTORY=${options.history ?: ''}",
        "NOTIFY=${options.notify ?: ''}",
        "BASE=${env.CHANGE_TARGET ? 'origin/' + env.CHANGE_TARGET : ''}",
        "BITGATE_RUN_ID=${env.BUILD_TAG}",
    ]
    List cells = []
    List builds = []

    stage('plan') {
        node(label) {
            fresh()
            withEnv(common) {
                timeout(time: 30, unit: 'MINUTES') {
                    sh 'pip install "$BITGATE"'
                    sh 'mkdir -p plan'
                    sh 'bitgate ci matrix --tier "$TIER" --for jenkins --out plan/matrix.json > plan/builds'
                    sh 'bitgate ci plan --tier "$TIER" --shards "$SHARDS" --base "$BASE" --history "$HISTORY" --matrix plan/matrix.json --out plan/plan.json'
                    sh 'bitgate ci matrix --tier "$TIER" --for jenkins --plan plan/plan.json --whole > plan/builds'
                    sh 'bitgate ci matrix --tier "$TIER" --for jenkins --plan plan/plan.json --out plan/matrix.json > plan/jobs'
                }
            }
            stash name: 'plan', includes: 'plan/**'
            cells = readJSON(file: 'plan/jobs')
            builds = readJSON(file: 'plan/builds')
        }
    }
    if (!cells) {
        return
    }

    stage('build') {
        Map branches = [failFast: false]
        builds.each { cell ->
            branches["build ${cell.env}".toString()] = { build(cell, common) }
        }
        catchError(buildResult: 'FAILURE', stageResult: 'FAILURE') {
            parallel branches
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
            sh 'mkdir -p out store'
            (builds.collect { stored(it) } + cells.collect { stashed(it) }).each { name ->
                catchError(buildResult: 'FAILURE', stageResult: 'FAILURE') {
                    unstash name
                }
            }
            withEnv(common) {
                try {
                    sh 'pip install "$BITGATE"'
                    sh 'bitgate ci merge out --matrix plan/matrix.json --plan plan/plan.json --built store --out merged --history "$HISTORY" --notify "$NOTIFY"'
                } finally {
                    junit testResults: 'merged/junit*.xml', allowEmptyResults: true
                    archiveArtifacts artifacts: 'merged/**', allowEmptyArchive: true
                    archiveArtifacts artifacts: 'out/**', allowEmptyArchive: true
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

private void build(cell, List common) {
    node(cell.label) {
        fresh()
        withEnv(common + ["TARGET=${cell.target}"]) {
            timeout(time: cell.minutes, unit: 'MINUTES') {
                inImage(cell) {
                    sh 'pip install "$BITGATE"'
                    sh 'bitgate compile --tier "$TIER" --target "$TARGET" --artefacts store --manifest "store/built-$TARGET.json"'
                    stash name: stored(cell), includes: 'store/**'
                }
            }
        }
    }
}

private void shard(cell, List common) {
    node(cell.label) {
        fresh()
        unstash 'plan'
        unstash stored(cell)
        withEnv(common + ["TARGET=${cell.target}", "SHARD=${cell.shard}", 'BITGATE_OUT=out']) {
            timeout(time: cell.minutes, unit: 'MINUTES') {
                inImage(cell) {
                    try {
                        sh 'pip install "$BITGATE"'
                        sh 'bitgate run --tier "$TIER" --target "$TARGET" --plan plan/plan.json --shard "$SHARD" --artefacts store --fetch-only'
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

private String stored(cell) {
    return "store-${cell.target}".toString()
}

private String stashed(cell) {
    return "results-${cell.target}-${cell.part}".toString()
}
