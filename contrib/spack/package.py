# Recipe of mpitrace for Spack: put it into packages/mpitrace of a repository of yours.
from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0 spack.package has it
    pass


class Mpitrace(MesonPackage):
    """What MPI cost a program, why, where in the source, and what to do next: records every MPI call of every rank without
    compiling or linking the program anew."""

    homepage = "https://example.org/mpitrace"
    url = "https://example.org/mpitrace/mpitrace-0.1.0.tar.gz"
    git = "https://example.org/mpitrace.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("slurm", default=False, description="Plugin for Slurm; for the series that it is built with")
    variant("openmpi", default=True, description="Tracer for programs of Open MPI")
    variant("mpich", default=True, description="Tracer for programs of MPICH and what shares its binary interface")
    variant("viewer", default=False, description="Viewer for the browser; npm gets packages from the network")
    variant("lines", default=True, description="Source lines of calls")
    variant("otf2", default=False, description="Export to OTF2")
    variant("sqlite", default=False, description="Export to SQLite")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("zlib-api")
    depends_on("libdeflate")
    depends_on("libmicrohttpd@0.9.71:")
    depends_on("cjson")
    depends_on("hwloc@2:")
    depends_on("libyaml")
    depends_on("elfutils", when="+lines")
    depends_on("otf2@3:", when="+otf2")
    depends_on("sqlite@3:", when="+sqlite")
    depends_on("curl", when="+sqlite")
    depends_on("slurm", when="+slurm")
    depends_on("openmpi", type="build", when="+openmpi")
    depends_on("mpich", type="build", when="+mpich")
    depends_on("node-js@18:", type="build", when="+viewer")
    depends_on("npm", type="build", when="+viewer")
    depends_on("llvm+clang+lld", type="build", when="+viewer")

    conflicts("~openmpi~mpich", msg="a tracer for one MPI library at least")
    conflicts("platform=darwin")
    requires("target=x86_64:")

    def meson_args(self):
        def feature(option, variant):
            return "-D%s=%s" % (option, "enabled" if self.spec.satisfies("+" + variant) else "disabled")

        options = {"spank": "slurm", "openmpi": "openmpi", "mpich": "mpich", "viewer": "viewer", "dwarf": "lines",
                   "otf2": "otf2", "sqlite": "sqlite"}
        return ["-Dtests=disabled", "-Dhwloc=enabled", "-Dyaml=enabled"] + [feature(*o) for o in options.items()]

    @run_before("meson")
    def name_compilers(self):
        """Both libraries' compilers are called mpicc; the build looks for mpicc.openmpi and mpicc.mpich. No links: Open MPI's
        looks at its own name."""
        mkdirp(self.tools())
        for name in ("openmpi", "mpich"):
            if self.spec.satisfies("+" + name):
                path = join_path(self.tools(), "mpicc." + name)
                with open(path, "w") as f:
                    f.write('#!/bin/sh\nexec %s "$@"\n' % self.spec[name].prefix.bin.mpicc)
                set_executable(path)

    def setup_build_environment(self, env):
        env.prepend_path("PATH", self.tools())

    def tools(self):
        return join_path(self.stage.path, "tools")
