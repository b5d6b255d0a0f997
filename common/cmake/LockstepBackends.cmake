# Backends of collectives that stand on somebody else's library: used where it is installed, never installed by
# `lockstep`. Each is a module of its own (common/ranks/comm_gloo, common/ranks/comm_mpi), so that nothing else needs the library.

option(LOCKSTEP_GLOO "Build the Gloo backend where Gloo is installed" ON)
option(LOCKSTEP_MPI "Build the MPI backend where MPI is installed" ON)

if(LOCKSTEP_GLOO AND LOCKSTEP_SANITIZE MATCHES "thread")
  message(STATUS "No Gloo backend: ThreadSanitizer does not see the locks inside an installed library")
elseif(LOCKSTEP_GLOO)
  # Gloo's own CMake package names a library file that Debian's package does not always have.
  find_path(LOCKSTEP_GLOO_INCLUDE_DIR gloo/rendezvous/context.h)
  find_library(LOCKSTEP_GLOO_LIBRARY gloo)
  if(LOCKSTEP_GLOO_INCLUDE_DIR AND LOCKSTEP_GLOO_LIBRARY)
    add_library(lockstep_gloo INTERFACE IMPORTED)
    add_library(lockstep::gloo ALIAS lockstep_gloo)
    target_include_directories(lockstep_gloo SYSTEM INTERFACE "${LOCKSTEP_GLOO_INCLUDE_DIR}")
    target_link_libraries(lockstep_gloo INTERFACE "${LOCKSTEP_GLOO_LIBRARY}" Threads::Threads)
  else()
    message(STATUS "No Gloo backend: Gloo is not installed (Debian: apt install libgloo-dev)")
  endif()
endif()

if(LOCKSTEP_MPI AND LOCKSTEP_SANITIZE)
  message(STATUS "No MPI backend: an installed MPI does not run under sanitizers without findings of its own")
elseif(LOCKSTEP_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C++ bindings are gone since MPI 3; ours is the C interface
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(STATUS "No MPI backend: MPI is not installed (Debian: apt install libopenmpi-dev openmpi-bin)")
  endif()
endif()
