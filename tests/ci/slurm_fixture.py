"""A private Slurm on this machine: one slurmctld, a slurmd for each node, all in one folder and on free ports."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from getpass import getuser
from pathlib import Path

PATIENCE_SECONDS = 120.0

MEMORY = Path("/sys/fs/cgroup/memory")
MEMORY_MIB = 6000
"""Of each node. A job gets 1024 of it unless it asks for more, and is killed if it takes more."""

_MARK, _NODE = "BITGATE_TEST_SLURM", "BITGATE_TEST_SLURM_NODE"
_PR_SET_PDEATHSIG = 1
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
FirstJobId={first_job}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin={task}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams={gather}
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=30
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=2
"""


class SlurmFixture:
    """``nodes``: the features of each, ``gfx942,cdna3``. Each has ``cpus`` and one pretended GPU.

    ``has_groups``: the kernel holds jobs to their memory, by control groups; else Slurm looks every second.
    """

    def __init__(
        self, folder: Path, nodes: Mapping[str, str], cpus: int = 2, has_groups: bool = os.access(MEMORY, os.W_OK)
    ) -> None:
        self.folder = folder
        self.has_groups = has_groups
        self.nodes = dict(nodes)
        self._cpus = cpus
        self._reserved = [_reserved_port() for _ in range(1 + len(nodes))]
        self._ports = [one.getsockname()[1] for one in self._reserved]
        # A job's control group is named by its node and number, and tests run several Slurms at once.
        self._first_job = self._ports[0] * 1000
        self._controller: subprocess.Popen[bytes] | None = None
        self._daemons: list[tuple[str, subprocess.Popen[bytes]]] = []
        for name in ("state", *nodes):  # a name of a job's socket has room for 108 bytes
            (folder / name).mkdir(parents=True)
        self.conf = folder / "slurm.conf"
        self.conf.write_text(self._configuration())
        # Of commands alone, which give up sooner where there is no answer.
        self.client_conf = folder / "client.conf"
        self.client_conf.write_text(self.conf.read_text() + "MessageTimeout=2\n")
        constrained = ["CgroupPlugin=cgroup/v1", f"CgroupMountpoint={MEMORY.parent}", "ConstrainRAMSpace=yes", ""]
        (folder / "cgroup.conf").write_text("\n".join(constrained))
        (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n")

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.client_conf)}

    def start(self) -> None:
        key = self.folder / "munge.key"
        subprocess.run(["mungekey", "--create", f"--keyfile={key}"], env=self._variables(), check=True)
        files = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._daemon("munged", "--foreground", "--force", f"--key-file={key}", *options)
        self._until(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.start_controller()
        for node in self.nodes:
            self.start_node(node)
        self._until(lambda: set(self.states().values()) == {"idle"}, "its nodes")

    def stop(self) -> None:
        self._kill(lambda _: True)
        for one in self._reserved:
            one.close()
        for node in self.nodes:
            jobs = range(self._first_job, self._first_job + 1000)
            for job in (one for one in MEMORY.glob(f"slurm_{node}/uid_*/job_*") if int(one.name[4:]) in jobs):
                for folder in sorted(job.glob("**/"), reverse=True):
                    with suppress(OSError):  # the kernel has not let go of it yet
                        folder.rmdir()

    def start_controller(self) -> None:
        self._controller = self._daemon("slurmctld", "-D", "-f", str(self.conf))
        self._until(self.states, "slurmctld")

    def kill_controller(self) -> None:
        assert self._controller
        self._controller.kill()
        self._controller.wait()

    @property
    def saved(self) -> float:
        """When slurmctld last wrote down which jobs there are: what it did since is forgotten if it is killed."""
        state = self.folder / "state" / "job_state"
        return state.stat().st_mtime if state.exists() else 0.0

    def start_node(self, node: str) -> None:
        self._daemon("slurmd", "-D", "-f", str(self.conf), "-N", node, **{_NODE: node})

    def kill_node(self, node: str) -> None:
        """As if its power went: slurmd, what it started and their jobs, at once."""
        self._kill(lambda variables: node in (variables.get(_NODE), variables.get("SLURMD_NODENAME")))

    def states(self) -> dict[str, str]:
        """Of each node; nothing while slurmctld does not answer."""
        command = ["sinfo", "--noheader", "--Node", "--format=%N %t"]
        done = subprocess.run(command, env=self._variables(), capture_output=True, text=True, check=False)
        return {} if done.returncode else dict(line.split() for line in done.stdout.splitlines())

    def control(self, *arguments: str) -> None:
        subprocess.run(["scontrol", *arguments], env=self._variables(), check=True)

    def _configuration(self) -> str:
        host = socket.gethostname().split(".")[0]
        places = {"host": host, "user": getuser(), "folder": self.folder}
        places |= {"controller_port": self._ports[0], "first_job": self._first_job}
        memory = {"task": "task/cgroup", "gather": "NoOverMemoryKill"}
        if not self.has_groups:
            memory = {"task": "task/none", "gather": "OverMemoryKill"}
        lines = [_CONF.format(**places, **memory)]
        for port, (node, features) in zip(self._ports[1:], self.nodes.items(), strict=True):
            lines.append(
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={self._cpus}"
                f" RealMemory={MEMORY_MIB} Gres=gpu:1 Feature={features}"
            )
        names = ",".join(self.nodes)
        lines.append(f"PartitionName=lab Nodes={names} Default=YES State=UP PriorityTier=1 DefMemPerNode=1024")
        lines.append(f"PartitionName=urgent Nodes={names} State=UP PriorityTier=10 DefMemPerNode=1024")
        return "\n".join([*lines, ""])

    def _variables(self, **more: str) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.conf), "PATH": _PATH, _MARK: str(self.folder), **more}

    def _daemon(self, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{command[0]}.out").open("ab") as out:
            daemon = subprocess.Popen(
                command,
                env=self._variables(**variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_dies_with_its_parent,
            )
        self._daemons.append((command[0], daemon))
        return daemon

    def _until(self, true: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(
                    f"{what} did not come up within {PATIENCE_SECONDS:g} s: {self.states()}; {self._ended()}"
                )
            time.sleep(0.1)

    def _ended(self) -> str:
        """Return the daemons that have ended, and the last lines of each log."""
        names = [name for name, daemon in self._daemons if daemon.poll() is not None]
        logs = sorted((*self.folder.glob("*.log"), *self.folder.glob("*.out")))
        lines = {log.name: log.read_text(errors="replace").splitlines()[-3:] for log in logs}
        return f"ended: {names or 'none'}; logs: {lines}"

    def _kill(self, wanted: Callable[[Mapping[str, str]], bool]) -> None:
        """Stopped before any is killed: none is to report another's death to slurmctld."""
        while found := [pid for pid, variables in self._processes() if wanted(variables)]:
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in found:
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
            time.sleep(0.05)

    def _processes(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Daemons know the folder by our mark, their jobs by the configuration that Slurm gave them."""
        ours = (str(self.conf), str(self.client_conf))
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError):
                rows = Path(f"/proc/{name}/environ").read_bytes().decode(errors="replace").split("\0")
                variables = dict(row.split("=", 1) for row in rows if "=" in row)
                is_job = "SLURM_JOB_ID" in variables and variables.get("SLURM_CONF") in ours
                if int(name) != os.getpid() and (is_job or variables.get(_MARK) == str(self.folder)):
                    yield int(name), variables


@contextmanager
def slurm_fixture(folder: Path, nodes: Mapping[str, str], cpus: int = 2, **more: bool) -> Iterator[SlurmFixture]:
    """Started, this process' commands talk to it, and nothing of it is left over."""
    cluster = SlurmFixture(folder, nodes, cpus, **more)
    before = {name: os.environ.get(name) for name in cluster.environment}
    try:
        cluster.start()
        os.environ.update(cluster.environment)
        yield cluster
    finally:
        cluster.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _reserved_port() -> socket.socket:
    """Return a socket that keeps a port for a daemon, before its start and while it is killed.

    A port that is merely free may be taken by the next connection of any process. The socket does not listen, so that
    Slurm may bind the port, too.
    """
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("", 0))
    return one


def _dies_with_its_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
