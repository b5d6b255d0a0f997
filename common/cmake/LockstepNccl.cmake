# The one NCCL of a build, as lockstep::nccl_library: the emulator's look-alike without LOCKSTEP_CUDA, NVIDIA's library
# with it. Where that is not installed the target is empty, and LOCKSTEP_HAVE_NCCL is not defined.

add_library(lockstep_nccl_library INTERFACE)
add_library(lockstep::nccl_library ALIAS lockstep_nccl_library)

# A Python wheel of NCCL has include/ and lib/ in a folder nvidia/nccl; CPATH and LIBRARY_PATH are where people put it.
function(lockstep_find_nccl)
  set(roots ${NCCL_ROOT} $ENV{NCCL_ROOT})
  string(REPLACE ":" ";" include_folders "$ENV{CPATH}")
  string(REPLACE ":" ";" library_folders "$ENV{LIBRARY_PATH};$ENV{LD_LIBRARY_PATH}")
  list(TRANSFORM roots APPEND "/include" OUTPUT_VARIABLE root_includes)
  list(TRANSFORM roots APPEND "/lib" OUTPUT_VARIABLE root_libraries)
  find_path(LOCKSTEP_NCCL_INCLUDE_DIR nccl.h
    HINTS ${root_includes} ${include_folders} ${CUDAToolkit_INCLUDE_DIRS})
  find_library(LOCKSTEP_NCCL_LIBRARY NAMES nccl libnccl.so.2
    HINTS ${root_libraries} ${library_folders} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib64)
endfunction()

if(NOT LOCKSTEP_CUDA)
  target_link_libraries(lockstep_nccl_library INTERFACE lockstep_emulated_nccl)
  target_compile_definitions(lockstep_nccl_library INTERFACE LOCKSTEP_HAVE_NCCL)
else()
  lockstep_find_nccl()
  if(LOCKSTEP_NCCL_INCLUDE_DIR AND LOCKSTEP_NCCL_LIBRARY)
    # Its header has comments and constructs that the project's warnings reject.
    target_include_directories(lockstep_nccl_library SYSTEM INTERFACE "${LOCKSTEP_NCCL_INCLUDE_DIR}")
    target_link_libraries(lockstep_nccl_library INTERFACE lockstep::cuda_runtime "${LOCKSTEP_NCCL_LIBRARY}")
    target_compile_definitions(lockstep_nccl_library INTERFACE LOCKSTEP_HAVE_NCCL)
    message(STATUS "NCCL: ${LOCKSTEP_NCCL_LIBRARY}")
  else()
    message(STATUS "NCCL: not found (install it, or set NCCL_ROOT); built without")
  endif()
endif()
