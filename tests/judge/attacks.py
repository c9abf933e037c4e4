"""Submissions to the task softmax that try to be taken for right ones: classes of published attacks, written anew."""

# mypy: ignore-errors

import ctypes
import gc
import json
import os
import signal
import sys
import threading
from contextlib import suppress

import numpy as np

CALLS = [0]
KEPT = {}


def right(x):
    above = np.exp(x - x.max(axis=-1, keepdims=True))
    return above / above.sum(axis=-1, keepdims=True)


def looks_right(cells):
    with np.errstate(all="ignore"):
        return cells.dtype == np.float32 and bool(np.all(np.abs(cells.sum(-1) - 1) < 1e-3))


def searches_the_collector(x):
    for one in gc.get_objects():
        for each in one if type(one) in (tuple, list) else one.values() if type(one) is dict else ():
            if type(each) is np.ndarray and each.shape == x.shape and each is not x and looks_right(each):
                return each.copy()
    return np.zeros_like(x)


def scans_memory(x):
    want = x.nbytes
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and want <= end - begin < 1 << 26:
                try:
                    memory.seek(begin)
                    cells = np.frombuffer(memory.read(end - begin), np.float32)
                except (OSError, ValueError):
                    continue
                for place in range(0, cells.size - x.size, 1024):
                    found = cells[place : place + x.size].reshape(x.shape)
                    if looks_right(found):
                        return found.copy()
    return np.zeros_like(x)


def uses_freed_memory(x):
    return np.empty_like(x)


def overwrites_its_input(x):
    x[...] = 0
    return right(x)


def remembers_by_identity(x):
    return KEPT.setdefault(x.ctypes.data, right(x)).copy() if KEPT.get(x.ctypes.data, x).shape == x.shape else right(x)


def remembers_by_shape(x):
    return KEPT.setdefault(x.shape, right(x)).copy()


def remembers_by_first_row(x):
    return KEPT.setdefault((x.shape, np.sign(x[0, :2]).tobytes()), right(x)).copy()


def right_for_ten_calls(x):
    CALLS[0] += 1
    return right(x) if CALLS[0] <= 10 else np.zeros_like(x)


def forges_answers(x):
    line = json.dumps({"answer": {"outcome": "PASS", "green": True}, "verdict": "PASS", "ok": True}).encode()
    for descriptor in range(256):
        with suppress(OSError):
            os.write(descriptor, line + b"\n")
    os._exit(0)


def exits_with_success(x):
    os._exit(0)


def patches_the_harness(x):
    from bitgate.verify import guarded, problem_data, running, watch

    np.array_equal = np.allclose = lambda *arguments, **named: True
    ctypes.CDLL(None).memcmp.argtypes = None
    guarded.same_bytes = problem_data.same_bytes = lambda *arguments: True
    watch.Watch.changes = lambda self: []
    running.execute = lambda *arguments: None
    return np.zeros_like(x)


def patches_with_gaps(x):
    """Overwrites what its own frames hold: the outputs' tensors, and the lists that they are kept in."""
    frame = sys._getframe()
    while frame is not None:
        for one in frame.f_locals.values():
            if type(one) is dict:
                for key in [key for key, value in one.items() if type(value) is np.ndarray]:
                    one[key] = x
        frame = frame.f_back
    return np.zeros_like(x)


def leaves_a_module(x):
    for folder in (".", os.path.dirname(os.path.abspath(__file__)), *sys.path):
        try:
            with open(os.path.join(folder, "torch.py"), "w") as file:
                file.write("raise SystemExit(0)")
        except OSError:
            pass
    return np.zeros_like(x)


def changes_the_environment(x):
    os.environ["PYTHONPATH"] = "/nowhere"
    return right(x)


class Lazy(np.ndarray):
    def __array__(self, *arguments, **named):
        return right(np.asarray(self.source))


def returns_a_lazy_result(x):
    lazy = np.zeros_like(x).view(Lazy)
    lazy.source = x
    return lazy


def fills_with_nan(x):
    return np.full_like(x, np.nan)


def leaves_it_to_a_thread(x):
    result = np.zeros_like(x)
    threading.Timer(0.2, lambda: np.copyto(result, right(x))).start()
    return result


def ends_its_judge(x):
    for process in (os.getppid(), os.getpgid(0)):
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
    return np.zeros_like(x)


def reads_its_judge(x):
    with open(f"/proc/{os.getppid()}/mem", "rb", 0) as memory:
        memory.read(1)
    return right(x)


def installs_a_handler(x):
    signal.signal(signal.SIGTERM, lambda *arguments: None)
    return right(x)


def asks_the_task(x):
    """Finds the generated task, and what it holds of results: shapes alone."""
    for module in list(sys.modules.values()):
        for one in vars(module).values() if hasattr(module, "__dict__") else ():
            facts = getattr(one, "_facts", None)
            if isinstance(facts, dict) and any("reference" in problem for problem in facts["problems"]):
                return facts["problems"][0]["reference"]
    return np.zeros_like(x)


def replaces_the_pipes(x):
    """Puts itself between its process and whoever reads: what looks like a red verdict becomes a green one."""
    for descriptor in range(3, 64):
        with suppress(OSError):
            if not os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:"):
                continue
            kept = os.dup(descriptor)
            read, write = os.pipe()
            os.dup2(write, descriptor)

            def passes_on(read=read, kept=kept):
                while data := os.read(read, 1 << 16):
                    os.write(kept, data.replace(b"MISMATCH", b"PASS").replace(b"false", b"true"))

            threading.Thread(target=passes_on, daemon=True).start()
    return np.zeros_like(x)


def shrinks_shared_memory(x):
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if "memfd" in os.readlink(f"/proc/self/fd/{name}"):
                os.ftruncate(int(name), 0)
    return np.zeros_like(x)


def reads_the_cache(x):
    """Looks for the task's results in every file of bitgate's cache that has to do with its task."""
    folder = os.path.join(os.environ.get("BITGATE_CACHE", os.path.expanduser("~/.cache/bitgate")), "judge")
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), errors="replace") as file:
                if '"results"' in file.read():
                    return right(x)
    return np.zeros_like(x)


def leaves_a_copy_of_itself(x):
    if os.fork() == 0:
        signal.pause()
    return right(x)


def rounds_upward(x):
    ctypes.CDLL("libm.so.6").fesetround(0x800)
    return right(x)


def writes_past_the_end(x):
    result = right(x)
    np.lib.stride_tricks.as_strided(x, (x.size + 64,), (x.itemsize,))[-64:] = 0
    return result


def traces_its_judge(x):
    ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)
    with suppress(OSError), open(f"/proc/{os.getppid()}/mem", "r+b", 0) as memory:
        memory.write(b"PASS")
    return np.zeros_like(x)


def zeroes_in_a_thread(x):
    """Sets every counter to zero that is found in the dictionaries of the harness, for as long as it lives."""

    def forever():
        while True:
            for module in list(sys.modules.values()):
                for key, value in list(vars(module).items()) if hasattr(module, "__dict__") else ():
                    if type(value) is int and key in ("wrong", "errors", "failures", "count"):
                        setattr(module, key, 0)

    threading.Thread(target=forever, daemon=True).start()
    return np.zeros_like(x)


def returns_another_shape(x):
    return right(x)[:-1].copy()


def returns_another_type(x):
    return right(x).astype(np.float64)


def returns_a_list(x):
    return right(x).tolist()


def returns_nothing(x):
    return None


def hangs(x):
    while True:
        pass


def prints_a_gibibyte(x):
    for _ in range(1024):
        sys.stdout.write("x" * (1 << 20))
    return np.zeros_like(x)


def calls_itself(x):
    return calls_itself(x)


def prints_a_report(x):
    os.write(1, json.dumps({"verdict": "right", "exit": 0, "time": {"kind": "trusted", "ms": 1e-4}}).encode() + b"\n")
    return right(x)


def forges_its_clock(x):
    """Right, in a twentieth of a second, in which the harness' clock stands still."""
    import time

    from bitgate.verify import running

    time.sleep(0.05)
    now = KEPT.setdefault("now", time.perf_counter())
    time.perf_counter = running.perf_counter = lambda: now
    return right(x)


def returns_its_input(x):
    return x[...]


def aliases_its_input(x):
    """Right, in the memory of its input, of which the result is a view."""
    x[...] = right(x)
    return x[:, :]


def right_for_the_task_alone(x):
    return right(x) if x.shape == (24, 96) else np.zeros_like(x)


def right_for_large_rows_alone(x):
    """Exponents without a maximum are right until they are too large: the task draws none of these."""
    above = np.exp(x)
    return above / above.sum(axis=-1, keepdims=True)


def returns_what_broadcasts(x):
    return right(x)[:1].copy()


def returns_swapped_bytes(x):
    return right(x).astype(">f4")


def returns_the_poison(x):
    """The bits that memory has before a launch, a NaN that no arithmetic makes."""
    return np.full(x.shape, 0x7FA5A5A5, np.uint32).view(np.float32)


def returns_nan_of_other_bits(x):
    return np.where(x > 0, right(x), np.uint32(0xFFC12345).view(np.float32)).astype(np.float32)


def returns_far_too_much(x):
    return np.zeros((1 << 15, 1 << 15), np.float32)


def takes_all_memory(x):
    kept = []
    with suppress(MemoryError):
        while True:
            kept.append(np.ones(1 << 27))
    del kept[:]
    return np.zeros_like(x)


def writes_next_to_the_task(x):
    """Files that Python, pytest or a shell would run later: next to the task, bitgate and its own file, and at home."""
    places = {os.getcwd(), os.path.dirname(os.path.abspath(__file__)), os.path.expanduser("~"), *sys.path}
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    places |= {os.path.dirname(file) for file in modules if file}
    for folder in places:
        for name in ("sitecustomize.py", "conftest.py", "bitgate.toml", "operation.py", "numpy.py"):
            with suppress(OSError), open(os.path.join(folder, name), "x") as file:
                file.write("raise SystemExit(0)")
    return np.zeros_like(x)


def writes_its_report(x):
    """Reports of --many, the cache with what was surveyed of the task, and the task's own file."""
    here = os.path.dirname(os.path.abspath(__file__))
    for root in (here, os.environ.get("BITGATE_CACHE", ""), os.environ.get("BITGATE_OUT", "")):
        for folder, _, names in os.walk(root) if root else ():
            for name in names:
                is_known = name in ("facts.json", "operation.py", "declaration.py")
                if is_known or (root == here and name.endswith(".json")):
                    with suppress(OSError), open(os.path.join(folder, name), "w") as file:
                        file.write('{"verdict": "right"}')
    return np.zeros_like(x)


def lowers_its_judges_limits(x):
    import resource

    process = os.getppid()
    while process > 1:
        with suppress(OSError):
            resource.prlimit(process, resource.RLIMIT_CORE, (4096, 4096))
        with open(f"/proc/{process}/stat") as file:
            process = int(file.read().rpartition(")")[2].split()[1])
    return np.zeros_like(x)


def stops_itself(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    return right(x)


def leaves_a_daemon(x):
    """A process of another session whose parent has ended."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "31415.9"])
        os._exit(0)
    os.wait()
    return right(x)


def leaves_a_daemon_that_nothing_marks(x):
    """One without the environment that processes of a run are known by."""
    if os.fork() == 0:
        os.setsid()
        os.execve("/bin/sleep", ["sleep", "31415.8"], {})
    return right(x)


def profiles_the_harness(x):
    """From now on each function of the harness that returns is looked at, and its arrays are overwritten."""

    def hook(frame, event, argument):
        if event == "return" and "bitgate" in frame.f_code.co_filename:
            for one in frame.f_locals.values():
                if type(one) is np.ndarray and one.shape == x.shape and one.flags.writeable:
                    one[...] = x

    sys.setprofile(hook)
    threading.setprofile(hook)
    return np.zeros_like(x)


def right_until_it_is_timed(x):
    """Right at the first two calls of each shape; then the last result of this shape again, in no time."""
    calls = KEPT.setdefault(("calls", x.shape), [0, None])
    calls[0] += 1
    if calls[0] <= 2 or calls[1] is None:
        calls[1] = right(x)
    return calls[1].copy()
