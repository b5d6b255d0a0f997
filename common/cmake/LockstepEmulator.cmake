# CUDA sources compiled for the emulator: the same .cu files that nvcc takes, by the host compiler.

# What emulated device code is compiled with, beside its own include folders. `-fsigned-char` and the like are not needed:
# CUDA's types are the host's.
function(lockstep_emulated_objects target kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;DEPENDS;OPTIONS")
  add_library(${target} STATIC ${arg_SOURCES})
  set_source_files_properties(${arg_SOURCES} PROPERTIES LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE lockstep::plain_options PUBLIC lockstep::emulator ${arg_DEPENDS})
  target_compile_definitions(${target} PRIVATE LOCKSTEP_KERNEL_NAMESPACE=${kind})
  # `.cu` says nothing to g++; unknown pragmas are nvcc's (#pragma unroll).
  target_compile_options(${target} PRIVATE "SHELL:-x c++" -Wno-unknown-pragmas ${arg_OPTIONS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# lockstep_emulated_library(kernels SOURCES a.cu b.cu DEPENDS lockstep::base)
# Makes kernels_plain and, where the preset has no sanitizers, kernels_checked: the same sources with the hooks of the
# checker (-fsanitize=thread calls them; the thread sanitizer's library is not linked). What a source exports stands in
# `inline namespace LOCKSTEP_KERNEL_NAMESPACE`, which is `plain` or `checked`, so that one program can hold both.
function(lockstep_emulated_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  lockstep_reject_unknown("lockstep_emulated_library(${name})" ${arg_UNPARSED_ARGUMENTS})
  lockstep_emulated_objects(${name}_plain plain SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS})
  if(NOT LOCKSTEP_SANITIZE)
    # -O1: more would keep values in registers and hide accesses from the checker.
    lockstep_emulated_objects(${name}_checked checked SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS}
      OPTIONS -O1 -g -fsanitize=thread -fsanitize=bounds -Wno-tsan)
    target_compile_definitions(${name}_checked PRIVATE LOCKSTEP_EMULATOR_CHECKED=1)
  endif()
endfunction()
