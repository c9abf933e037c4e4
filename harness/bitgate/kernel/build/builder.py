"""The builder of one platform's shared libraries: its HIP runtime, kernel families, and the native helpers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.project import harness_kernels, own_kernels
from bitgate.core.targets import target_id
from bitgate.kernel.build import artefacts as stores
from bitgate.kernel.build import flags
from bitgate.kernel.build.artefact import beside, folders_of
from bitgate.kernel.build.artefacts import Artefacts
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.link import link_code_object, link_library
from bitgate.kernel.build.overlay import from_environment, is_for, quick_build, real_paths
from bitgate.kernel.build.queue import compile_lacking, lacking
from bitgate.kernel.build.recipe import (
    BuildRequest,
    Recipe,
    generated,
    include_folders,
    link_words,
    linked_files,
    native_sources,
    prebuilt_library,
    sources_of,
    stem,
    units_of,
)
from bitgate.kernel.build.source_tree import SourceTree
from bitgate.kernel.build.source_unit import is_cuda
from bitgate.kernel.build.toolchain import (
    Compiler,
    find_cuda_compiler,
    find_device_compiler,
    find_hip_compiler,
    find_host_compiler,
    find_rocm_runtime,
)
from bitgate.kernel.build.unit import TranslationUnit, UnitStore, prelude_of_host_code, prelude_of_kernels
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents, content_of
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.source import is_module

_COMPILERS: dict[str, Callable[[Cache], Compiler]] = {
    "host": find_host_compiler,
    "amd": find_hip_compiler,
    "nvidia": find_cuda_compiler,
}

RUNTIME_SONAME = "libamdhip64.so"
"""The name that hip-python opens; it gets a library of this name that is loaded already."""

NATIVE = "libbitgate_native.so"


class Builder:
    """The builder of the libraries of one platform and target; UsageError without a compiler, or a usable cache.

    Parameters
    ----------
    platform
        ``host``, ``amd`` or ``nvidia``.
    progress
        Called with one line for each step that takes time; by default the lines go to stderr. Nothing is printed when
        everything comes from the cache.
    arch
        The GPU target (``gfx942``, ``sm_90``), in either spelling.
    cache
        The build cache; by default the user's.
    artefacts
        The store of libraries that were built elsewhere; by default that of ``$BITGATE_ARTEFACTS``.
    """

    def __init__(
        self,
        platform: str = "host",
        progress: Callable[[str], None] | None = None,
        *,
        arch: str | None = None,
        cache: Cache | None = None,
        artefacts: Artefacts | None = None,
    ) -> None:
        if platform not in _COMPILERS:
            raise UsageError(f"platform '{platform}': libraries are built for {', '.join(_COMPILERS)}")
        if platform != "host" and not arch:
            raise UsageError(f"platform '{platform}': say for which target")
        self.platform = platform
        self.target = target_id(arch or "host").of_code
        self.arch = self.target.name
        self.cache = cache or Cache()
        self._progress = progress or print_progress
        self.artefacts = artefacts or stores.from_environment(self._progress)
        self._compilers: dict[Path, str] = {}
        """The compilers of libraries that were built elsewhere."""

    @cached_property
    def compiler(self) -> Compiler:
        return _COMPILERS[self.platform](self.cache)

    def runtime(self) -> Path:
        """Return the platform's ``libamdhip64.so``: bitgate's for host and nvidia, ROCm's for amd."""
        if self.platform == "amd":
            return find_rocm_runtime()
        folder, sources = self._runtime_sources
        asked = self._request(f"{self.platform} runtime", RUNTIME_SONAME, sources, folder)
        return self._library(asked, self._runtime_recipe)

    @property
    def _runtime_sources(self) -> tuple[Path, list[Path]]:
        folder = own_kernels() / "platforms" / self.platform / "runtime"
        return folder, sorted(folder.glob("*.cpp")) + sorted(folder.glob("*.S"))

    def _runtime_recipe(self) -> Recipe:
        label, (folder, sources) = f"{self.platform} runtime", self._runtime_sources
        includes = (*self._platform_includes, folder, own_kernels() / "include")
        begin = None
        if self.platform == "host":
            begin = prelude_of_host_code(self.compiler.kind, own_kernels())
            compile_flags = flags.host_library(self.compiler.kind)
            link_flags = (
                *flags.host_link(self.compiler.kind),
                f"-Wl,-soname,{RUNTIME_SONAME}",
                "-Wl,-z,nodelete",  # signal handlers and thread stacks outlive a dlclose
                f"-Wl,--version-script={folder / 'exports.map'}",
            )
        else:
            compile_flags = flags.cuda_runtime()
            link_flags = (*flags.cuda_link(), "-Xlinker", f"-soname={RUNTIME_SONAME}")
        units = units_of(label, sources, includes, compile_flags, self.compiler, prelude=begin)
        return Recipe(label, RUNTIME_SONAME, units, link_flags, self.compiler, includes)

    @property
    def _platform_includes(self) -> tuple[Path, ...]:
        """Folders of the headers of the platform's HIP; ROCm's compiler brings its own."""
        platforms = own_kernels() / "platforms"
        return {
            "host": (platforms / "host" / "include",),
            "nvidia": (platforms / "nvidia" / "include", platforms / "host" / "include"),
            "amd": (),
        }[self.platform]

    def native(self) -> Path:
        """Return ``libbitgate_native.so``: the C++ of CPU references and fills, without HIP, equal on all platforms."""
        folders, sources = native_sources()
        asked = BuildRequest("native", NATIVE, "host", "", tuple(sources), {}, folders, folders[0])
        return self._library(asked, self._native_recipe)

    def program_watch(self) -> Path:
        """Return ``libbitgate_exec.so``: loaded before a program, it sets the host runtime and reports its findings."""
        folder = own_kernels() / "platforms" / "host" / "exec"
        sources, name = [folder / "exec.cpp"], "libbitgate_exec.so"

        def recipe() -> Recipe:
            kind, includes = self.compiler.kind, (*self._platform_includes, folder)
            units = units_of("exec", sources, includes, flags.host_library(kind), self.compiler)
            return Recipe("exec", name, units, flags.host_link(kind), self.compiler, includes, needs_runtime=True)

        return self._library(self._request("exec", name, sources, folder), recipe)

    def host_modules(self) -> Path:
        """Return ``libbitgate_modules.so``: HIP's module functions on the host runtime, for exported capsules."""
        folder = own_kernels() / "platforms" / "host" / "modules"
        sources, name = [folder / "modules.cpp"], "libbitgate_modules.so"

        def recipe() -> Recipe:
            kind, includes = self.compiler.kind, (own_kernels() / "include", folder)
            units = units_of("modules", sources, includes, flags.host_library(kind), self.compiler)
            return Recipe("modules", name, units, flags.host_link(kind), self.compiler, includes, needs_runtime=True)

        return self._library(self._request("modules", name, sources, folder), recipe)

    def _native_recipe(self) -> Recipe:
        includes, sources = native_sources()
        compiler = find_host_compiler(self.cache)
        begin = prelude_of_host_code(compiler.kind, harness_kernels())
        units = units_of("native", sources, includes, flags.host_library(compiler.kind), compiler, prelude=begin)
        return Recipe("native", NATIVE, units, flags.host_link(compiler.kind), compiler, includes)

    def ahead(self, declarations: Iterable[KernelFamily]) -> None:
        """Compile in one queue what the runtime, the helpers and these families lack.

        Sources that do not compile are reported when their library is requested. Nothing is done if libraries come from
        a store, or sources are replaced.
        """
        if self.artefacts is not None or from_environment():
            return
        recipes = [self._native_recipe(), *(self.recipe(one) for one in declarations if one.library is None)]
        if self.platform != "amd":
            recipes.insert(0, self._runtime_recipe())
        contents, libraries = Contents(self.cache), []
        for recipe in recipes:
            store = UnitStore(self.cache, contents, SourceTree(self.cache, recipe.folders, {}))
            libraries.append(lacking(recipe, store, {unit: store.lookup(unit) for unit in recipe.units}))
        compile_lacking(libraries, self.cache, self._progress, goes_on=True)
        contents.save()

    def family(
        self, declaration: KernelFamily, overlay: Mapping[str, Path] | None = None, *, race: bool = False
    ) -> Path:
        """Return the family's shared library for this platform; with ``race`` the host's flavour that logs each access.

        ``overlay`` maps source paths, relative to the data root, to files that replace them, in addition to those of
        ``$BITGATE_OVERLAY``. Only the units that include a replaced file are compiled again, into another library.
        """
        if declaration.library is not None:
            if race:
                raise BuildError(declaration.name, f"{declaration.library} is prebuilt: --race builds from sources")
            return prebuilt_library(declaration)
        shadowing = {**from_environment(), **(overlay or {})} if is_for(declaration.name) else {}
        overlaid = real_paths(shadowing, declaration.folder)
        return self._library(self._family_request(declaration, race), lambda: self.recipe(declaration, race), overlaid)

    def code_objects(
        self,
        declaration: KernelFamily,
        groups: Collection[str] | None = None,
        overlay: Mapping[str, Path] | None = None,
    ) -> dict[str, Path]:
        """Build device code alone, with ziglang instead of ROCm: a code object for each translation unit, by its name.

        Next to each ``<unit>.co`` is its assembly, ``<unit>.s``. Units of instances for other wave sizes are left out,
        and so are those of instances that are not in ``groups``; units of no instance hold what all share. ``overlay``
        is as for ``family``. UsageError without ziglang.
        """
        if self.platform != "amd":
            raise UsageError(f"device code alone is for AMD GPUs, not {self.arch}")
        if declaration.library is not None:
            raise UsageError(f"kernel family {declaration.name} is a prebuilt library: it has no sources")
        if is_module(declaration.sources):
            raise UsageError(f"kernel family {declaration.name} is a module: its device code is compiled already")
        compiler = find_device_compiler(self.cache)
        unwanted = {instance.group for instance in declaration.instances} - set(groups) if groups is not None else set()
        units = [unit for unit in self._deviceunits_of(declaration, compiler) if stem(unit.source) not in unwanted]
        shadowing = real_paths({**from_environment(), **(overlay or {})}, declaration.folder)
        contents = Contents(self.cache, {str(real): str(other) for real, other in shadowing.items()})
        tree = SourceTree(self.cache, (own_kernels(), *include_folders(declaration)), shadowing)
        store = UnitStore(self.cache, contents, tree)
        try:
            keys = {unit: store.lookup(unit) for unit in units}
            recipe = Recipe(f"{declaration.name} {self.arch}", "", tuple(units), (), compiler, ())
            keys |= compile_lacking([lacking(recipe, store, keys)], self.cache, self._progress)
            contents.save()
        finally:
            tree.close()
        return {
            stem(unit.source): link_code_object(
                stem(unit.source), store.object_path(str(keys[unit])), self.target.spelled, compiler, self.cache
            )
            for unit in units
        }

    def _deviceunits_of(self, declaration: KernelFamily, compiler: Compiler) -> tuple[TranslationUnit, ...]:
        kernels = own_kernels()
        platforms = kernels / "platforms"
        includes: tuple[Path, ...] = (platforms / "amd" / "include", platforms / "host" / "include")
        includes += (kernels / "include",)
        if declaration.source is not None and is_cuda(declaration):
            includes = (platforms / "cuda" / "include", *includes)
        every = {instance.group for instance in declaration.instances} | declaration.left_out
        here = {instance.group for instance in declaration.on(self.arch).instances}
        fitting = [source for source in sources_of(declaration) if stem(source) not in every - here]
        device_flags = (*flags.device_code(self.target), *declaration.flags_on("amd"))
        folders = (*includes, *include_folders(declaration))
        texts = generated(declaration, self.target.name)
        return units_of(declaration.name, fitting, folders, device_flags, compiler, texts)

    def find(self, declaration: KernelFamily) -> Path | None:
        """Return the family's library if it is built and up to date; build nothing."""
        if declaration.library is not None:
            return prebuilt_library(declaration)
        return self._looked_up(self.recipe(declaration))

    def is_built(self, *declarations: KernelFamily) -> bool:
        """Return whether the runtime, the helpers and these families are built here and up to date; build nothing.

        False, too, if libraries come from a store, or sources are replaced. UsageError without a compiler.
        """
        if self.artefacts is not None or from_environment() or quick_build():
            return False
        if any(one.library is not None and not (one.folder / one.library).is_file() for one in declarations):
            return False
        recipes = [self._native_recipe(), *(self.recipe(one) for one in declarations if one.library is None)]
        if self.platform != "amd":
            recipes.insert(0, self._runtime_recipe())
        contents = Contents(self.cache)  # each header is read once
        return all(self._looked_up(recipe, contents) for recipe in recipes)

    def compiler_line(self, declaration: KernelFamily, library: Path, race: bool = False) -> str:
        """Return compiler and flags of the family's ``library``: ``g++ 12.2.0 -std=c++20 ...``; unknown if prebuilt."""
        if declaration.library is not None:
            return "unknown"
        return self._compilers.get(library) or self.recipe(declaration, race).compiler_line

    def recipe(self, declaration: KernelFamily, race: bool = False) -> Recipe:
        """Return the recipe of the family's library. UsageError if it is not for this platform, or lacks a source."""
        name, folder = declaration.name, declaration.folder
        if self.platform not in declaration.platforms:
            declared = ", ".join(declaration.platforms)
            raise UsageError(f"kernel family {name} is not for platform {self.platform} (its declaration: {declared})")
        kernels = own_kernels()
        includes = (*self._includes_for(declaration), kernels / "include", *include_folders(declaration))
        begin = None
        if self.platform == "host":
            kind = self.compiler.kind
            begin = prelude_of_kernels(kind, folder, self._platform_includes)
            compile_flags, link_flags = flags.host_kernel(kind, quick_build(), race), flags.host_link(kind)
        elif self.platform == "nvidia":
            compile_flags, link_flags = flags.cuda_kernel(self.target), flags.cuda_link()
        else:
            compile_flags, link_flags = flags.hip_kernel(self.target), flags.hip_link(self.target)
        is_translated = self.platform == "host" and declaration.source is not None
        if is_translated:  # addr2line names the wrong file of a preprocessed source in DWARF 5
            compile_flags += ("-Wno-unknown-pragmas", *(["-gdwarf-4"] if race else []))
        stated = declaration.flags_on(self.platform)
        units = units_of(
            name,
            sources_of(declaration),
            includes,
            (*compile_flags, *stated, *(flags.race_level() if race and stated else ())),
            self.compiler,
            generated(declaration, self.target.name),
            begin,
            is_translated,
        )
        return Recipe(
            f"{name} (race)" if race else name,
            f"lib{name}.so",
            units,
            link_flags,
            self.compiler,
            (kernels, *include_folders(declaration)),
            needs_runtime=self.platform != "amd",
            libraries=link_words(declaration, self.compiler),
            linked=linked_files(declaration),
        )

    def _includes_for(self, declaration: KernelFamily) -> tuple[Path, ...]:
        """Return the folders of the platform's headers, with CUDA's names where sources have them."""
        lacks_cuda = declaration.source is not None and is_cuda(declaration) and self.platform != "nvidia"
        return ((own_kernels() / "platforms" / "cuda" / "include",) if lacks_cuda else ()) + self._platform_includes

    def _family_request(self, declaration: KernelFamily, race: bool) -> BuildRequest:
        flavour = "race" if race else "quick" if self.platform == "host" and quick_build() else ""
        sources, texts = sources_of(declaration), generated(declaration, self.target.name)
        if declaration.source is not None:
            sources += [declaration.folder / source for source in declaration.sources]
        settings = (*declaration.flags_on(self.platform), *declaration.libraries)
        settings += tuple(content_of(path) for path in linked_files(declaration))
        file = f"lib{declaration.name}.so"
        return self._request(declaration.name, file, sources, declaration.folder, flavour, texts, settings)

    def _request(
        self,
        label: str,
        file: str,
        sources: Sequence[Path],
        folder: Path,
        flavour: str = "",
        texts: Mapping[Path, str] | None = None,
        settings: tuple[str, ...] = (),
    ) -> BuildRequest:
        folders, target = folders_of(self.platform), self.target.spelled
        return BuildRequest(label, file, target, flavour, tuple(sources), texts or {}, folders, folder, settings)

    def _library(
        self, asked: BuildRequest, recipe: Callable[[], Recipe], overlay: Mapping[Path, Path] | None = None
    ) -> Path:
        """Return a library from this machine's cache, else from the store of artefacts, if any, else build it."""
        if self.artefacts is None or overlay:
            return self._build(recipe(), overlay)
        contents = Contents(self.cache)
        wanted = asked.wanted(contents)
        found = self.artefacts.held(wanted, contents, self.cache)
        if found is None and not self.artefacts.goes_first and (own := self._built(recipe)):
            return own
        found = found or self.artefacts.fetch(wanted, contents, self.cache)
        contents.save()
        if found is not None:
            self._compilers[found.path] = found.artefact.compiler
            return found.path
        own_recipe = recipe()
        library = self._build(own_recipe)
        if self.artefacts.pushes:
            contents.forget()
            reached = self._reached(own_recipe)
            others = beside(reached, asked.sources, asked.folders, wanted, contents)
            self.artefacts.push(wanted, library, own_recipe.compiler_line, others)
        return library

    def _built(self, recipe: Callable[[], Recipe]) -> Path | None:
        """Return what this machine built of the present sources; None without a compiler, too."""
        try:
            return self._looked_up(recipe())
        except UsageError:
            return None

    def _looked_up(self, recipe: Recipe, contents: Contents | None = None) -> Path | None:
        store = UnitStore(self.cache, contents or Contents(self.cache), SourceTree(self.cache, recipe.folders, {}))
        library = recipe.library(self.cache, {unit: store.lookup(unit) for unit in recipe.units})
        return library if library is not None and self.cache.used(library) else None

    def _reached(self, recipe: Recipe) -> list[str]:
        """Return the files that the recipe's units were compiled from."""
        store = UnitStore(self.cache, Contents(self.cache), SourceTree(self.cache, recipe.folders, {}))
        return [path for unit in recipe.units for path in store.reached(unit)]

    def _build(self, recipe: Recipe, overlay: Mapping[Path, Path] | None = None) -> Path:
        """Look up or compile every unit, then look up or link the library of their keys."""
        contents = Contents(self.cache, {str(real): str(other) for real, other in (overlay or {}).items()})
        tree = SourceTree(self.cache, recipe.folders, overlay or {})
        store = UnitStore(self.cache, contents, tree)
        try:
            keys = {unit: store.lookup(unit) for unit in recipe.units}
            library = recipe.library(self.cache, keys)
            if library is None or not self.cache.used(library):
                keys |= compile_lacking([lacking(recipe, store, keys)], self.cache, self._progress)
                library = recipe.library(self.cache, keys)
                if library is None:
                    raise KeyboardInterrupt  # the build was stopped before every unit had its object
                objects = [store.object_path(str(keys[unit])) for unit in recipe.units]
                runtime = self.runtime() if recipe.needs_runtime else None
                link_library(library, recipe, objects, runtime, self.cache, self._progress)
            contents.save()
            return library
        finally:
            tree.close()
