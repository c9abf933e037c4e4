CREATE TABLE builds (
    id INTEGER NOT NULL,
    hash VARCHAR(32) NOT NULL,
    build TEXT NOT NULL,
    compiler TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (hash)
);
CREATE TABLE cases (
    id INTEGER NOT NULL,
    hash VARCHAR(32) NOT NULL,
    "case" TEXT NOT NULL,
    kernel TEXT NOT NULL,
    instance TEXT NOT NULL,
    options TEXT NOT NULL,
    fill TEXT NOT NULL,
    seed BIGINT NOT NULL,
    schedule TEXT NOT NULL,
    suite TEXT NOT NULL,
    test TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (hash)
);
CREATE INDEX cases_by_case ON cases ("case");
CREATE TABLE machines (
    id INTEGER NOT NULL,
    hash VARCHAR(32) NOT NULL,
    host TEXT NOT NULL,
    device TEXT NOT NULL,
    kind TEXT NOT NULL,
    platform TEXT NOT NULL,
    os TEXT NOT NULL,
    driver TEXT NOT NULL,
    runtime TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (hash)
);
CREATE TABLE runs (
    id INTEGER NOT NULL,
    hash VARCHAR(32) NOT NULL,
    name TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (hash)
);
CREATE TABLE schema_version (
    version INTEGER NOT NULL
);
CREATE TABLE jobs (
    id INTEGER NOT NULL,
    hash VARCHAR(32) NOT NULL,
    run_id INTEGER NOT NULL,
    attempt BIGINT NOT NULL,
    job TEXT NOT NULL,
    shard TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (hash),
    FOREIGN KEY(run_id) REFERENCES runs (id)
);
CREATE TABLE verdicts (
    id INTEGER NOT NULL,
    line VARCHAR(32) NOT NULL,
    job_id INTEGER NOT NULL,
    case_id INTEGER NOT NULL,
    machine_id INTEGER NOT NULL,
    build_id INTEGER NOT NULL,
    target TEXT NOT NULL,
    tier TEXT NOT NULL,
    time TEXT NOT NULL,
    outcome TEXT NOT NULL,
    green BOOLEAN NOT NULL,
    compared BOOLEAN NOT NULL,
    digest TEXT NOT NULL,
    seconds FLOAT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    sentence TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (line),
    FOREIGN KEY(job_id) REFERENCES jobs (id),
    FOREIGN KEY(case_id) REFERENCES cases (id),
    FOREIGN KEY(machine_id) REFERENCES machines (id),
    FOREIGN KEY(build_id) REFERENCES builds (id)
);
CREATE INDEX verdicts_by_case ON verdicts (case_id, target, time);
CREATE INDEX verdicts_by_job ON verdicts (job_id);
INSERT INTO schema_version (version) VALUES (1);
INSERT INTO runs (id, hash, name, started, ended) VALUES (1000, 'r', 'an old night', '2026-01-01T00:00:00.000000+00:00', '2026-01-01T00:00:00.000000+00:00');
INSERT INTO jobs (id, hash, run_id, attempt, job, shard) VALUES (1000, 'j', 1000, 1, 'j', '');
INSERT INTO cases (id, hash, "case", kernel, instance, options, fill, seed, schedule, suite, test) VALUES (1000, 'c', 'c', 'k', 'i', '{}', 'exact', 0, 'forward', '', '');
INSERT INTO machines (id, hash, host, device, kind, platform, os, driver, runtime) VALUES (1000, 'm', 'n1', 'MI300X', 'hardware', 'amd', 'Linux', '6', '7');
INSERT INTO builds (id, hash, build, compiler, "commit") VALUES (1000, 'b', 'b', 'c', 'd');
INSERT INTO verdicts (id, line, job_id, case_id, machine_id, build_id, target, tier, time, outcome, green, compared, digest, seconds, kind, path, sentence) VALUES (1000, 'old', 1000, 1000, 1000, 1000, 'gfx942', 'smoke', '2026-01-01T00:00:00.000000+00:00', 'PASS', true, true, '', 0.1, '', '', '')
