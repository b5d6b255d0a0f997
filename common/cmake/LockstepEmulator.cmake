# CUDA sources compiled for the emulator: the same .cu files that nvcc takes, by the host compiler.

# addr2line of binutils 2.40 takes file 1 of DWARF 5 for the file compiled, not for the one that #line names.
set(LOCKSTEP_DEBUG_OF_LIBRARIES -gdwarf-4 -g1)  # reports need lines and functions; in this order, for -gdwarf-4 sets -g
set(LOCKSTEP_DEBUG_OF_PROGRAMS -gdwarf-4 -g)     # a debugger shows variables, too
# -O1: more would keep values in registers and hide accesses from the checker. Without -fno-tree-sra, g++ takes a float4
# apart whose members are used, and one access of 16 bytes becomes four.
set(checked -O1 -fsanitize=thread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND checked -fno-tree-sra)
endif()
# The compiler's own checks of indices, of signed arithmetic and of the alignment of vectors also end in the checker.
# clang's `bounds` holds a check that stops the program instead.
list(APPEND checked -fsanitize=signed-integer-overflow)
set(LOCKSTEP_CHECKED_OPTIONS ${checked} ${LOCKSTEP_DEBUG_OF_PROGRAMS})
set(LOCKSTEP_CHECKED_LIBRARY_OPTIONS ${checked} ${LOCKSTEP_DEBUG_OF_LIBRARIES})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND LOCKSTEP_CHECKED_LIBRARY_OPTIONS -fsanitize=bounds -fsanitize=alignment -Wno-tsan)
else()
  list(APPEND LOCKSTEP_CHECKED_LIBRARY_OPTIONS -fsanitize=array-bounds -fsanitize=alignment)
endif()

set(LOCKSTEP_CHECKED_PROGRAM_OPTIONS ${LOCKSTEP_CHECKED_OPTIONS} -fsanitize=bounds)

# As under nvcc, cuda_runtime.h comes before every source.
if(LOCKSTEP_PRECOMPILE AND NOT LOCKSTEP_SANITIZE AND NOT LOCKSTEP_CUDA)
  set(headers
    <array> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <memory> <string> <string_view>
    <tuple> <type_traits> <utility> <vector> <cuda_runtime.h>)
  lockstep_precompile(cuda_plain HEADERS ${headers} DEPENDS lockstep::plain_options lockstep::emulator OPTIONS -fPIC)
  lockstep_precompile(cuda_checked HEADERS ${headers} DEPENDS lockstep::plain_options lockstep::emulator
    OPTIONS -fPIC ${LOCKSTEP_CHECKED_LIBRARY_OPTIONS})
  lockstep_precompile(cuda_program HEADERS ${headers} DEPENDS lockstep::emulator
    OPTIONS ${LOCKSTEP_CHECKED_PROGRAM_OPTIONS})
endif()

# What emulated device code is compiled with: the project's warnings, never its sanitizers.
function(lockstep_emulated_objects target kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;DEPENDS;OPTIONS")
  lockstep_or_prebuilt(sources ${target} ${arg_SOURCES})
  add_library(${target} STATIC ${sources})
  set(compiled ${sources})
  list(FILTER compiled EXCLUDE REGEX "\\.o$")
  set_source_files_properties(${compiled} PROPERTIES LANGUAGE CXX)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE lockstep::plain_options PUBLIC lockstep::cuda_runtime ${arg_DEPENDS})
  lockstep_include_own_wing(${target})
  target_compile_definitions(${target} PRIVATE LOCKSTEP_KERNEL_NAMESPACE=${kind})
  # `.cu` says nothing to g++; unknown pragmas are nvcc's (#pragma unroll).
  target_compile_options(${target} PRIVATE "SHELL:-x c++" -Wno-unknown-pragmas ${arg_OPTIONS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  lockstep_use_precompiled(${target} cuda_${kind})
endfunction()

# Ordinary CUDA has syntax that C++ lacks (kernel<<<...>>>(...), extern __shared__): cuda_to_host makes C++ of it, with
# the lines of the source. nvcc takes it as it is. The C++ is written below `folder`, at the sources' relative paths.
function(lockstep_translated_sources result folder)
  set(outputs)
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    if(NOT EXISTS "${path}" AND EXISTS "${LOCKSTEP_PREBUILT}")
      list(APPEND outputs "${source}")  # its object takes its place
      continue()
    endif()
    # Messages and debug information name sources as the compiler is told others: relative to where it runs.
    file(RELATIVE_PATH shown "${CMAKE_BINARY_DIR}" "${path}")
    set(relative "${source}")
    if(IS_ABSOLUTE "${source}")
      get_filename_component(relative "${source}" NAME)
    endif()
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${folder}/${relative}.cpp")
    get_filename_component(output_folder "${output}" DIRECTORY)
    file(MAKE_DIRECTORY "${output_folder}")
    add_custom_command(OUTPUT "${output}"
      COMMAND cuda_to_host "${path}" "${output}" --depfile "${output}.d" --name "${shown}"
      DEPENDS "${path}" cuda_to_host DEPFILE "${output}.d" COMMENT "Translating ${shown}" VERBATIM)
    set_source_files_properties("${source}" PROPERTIES HEADER_FILE_ONLY ON)  # the target's, but not to be compiled
    list(APPEND outputs "${output}" "${source}")
  endforeach()
  set(${result} "${outputs}" PARENT_SCOPE)
endfunction()

# lockstep_emulated_library(kernels SOURCES a.cu b.cu DEPENDS lockstep::base)
# Makes kernels_plain and, where the preset has no sanitizers, kernels_checked: the same sources with the hooks of the
# checker (-fsanitize=thread calls them; the thread sanitizer's library is not linked). What a source exports stands in
# `inline namespace LOCKSTEP_KERNEL_NAMESPACE`, which is `plain` or `checked`, so that one program can hold both.
# TRANSLATE: the sources are ordinary CUDA, with its syntax for launches.
# With LOCKSTEP_CUDA (preset cuda) nvcc makes kernels_plain, and nothing is emulated.
function(lockstep_emulated_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TRANSLATE" "" "SOURCES;DEPENDS")
  lockstep_reject_unknown("lockstep_emulated_library(${name})" ${arg_UNPARSED_ARGUMENTS})
  if(LOCKSTEP_CUDA)
    add_library(${name}_plain STATIC ${arg_SOURCES})
    target_compile_definitions(${name}_plain PRIVATE LOCKSTEP_KERNEL_NAMESPACE=plain)
    target_include_directories(${name}_plain PRIVATE ${LOCKSTEP_COMMON_FOLDERS})
    target_compile_options(${name}_plain PRIVATE "SHELL:-Werror all-warnings")
    target_link_libraries(${name}_plain PUBLIC lockstep::cuda_runtime ${arg_DEPENDS})
    return()
  endif()
  if(arg_TRANSLATE)
    lockstep_translated_sources(arg_SOURCES translated ${arg_SOURCES})
  endif()
  lockstep_emulated_objects(${name}_plain plain SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS})
  if(NOT LOCKSTEP_SANITIZE)
    lockstep_emulated_objects(${name}_checked checked SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS}
      OPTIONS ${LOCKSTEP_CHECKED_LIBRARY_OPTIONS})
  endif()
endfunction()

# lockstep_cuda_program(demo SOURCES main.cu DEPENDS lockstep::base CHECKED)
# A program of plain CUDA sources, `kernel<<<...>>>(...)` and `extern __shared__` included: cuda_to_host translates them,
# the host compiler compiles what comes out, as its own file and lines. CHECKED adds the checker's hooks, and the program
# then checks when LOCKSTEP_EMULATOR_CHECK=1. Warnings are the learner's business and stay off, as under nvcc.
function(lockstep_cuda_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECKED" "" "SOURCES;DEPENDS")
  lockstep_reject_unknown("lockstep_cuda_program(${name})" ${arg_UNPARSED_ARGUMENTS})
  if(LOCKSTEP_CUDA)
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE lockstep::cuda_runtime ${arg_DEPENDS})
    target_include_directories(${name} PRIVATE ${LOCKSTEP_COMMON_FOLDERS})
    lockstep_add_to_programs(${name})
    return()
  endif()
  lockstep_translated_sources(translated_sources translated ${arg_SOURCES})
  add_executable(${name} ${translated_sources})
  target_link_libraries(${name} PRIVATE lockstep::emulator ${arg_DEPENDS})
  target_include_directories(${name} PRIVATE ${LOCKSTEP_COMMON_FOLDERS})
  target_compile_options(${name} PRIVATE -w)
  if(arg_CHECKED)
    target_compile_options(${name} PRIVATE ${LOCKSTEP_CHECKED_PROGRAM_OPTIONS})
    lockstep_use_precompiled(${name} cuda_program)
  endif()
  lockstep_add_to_programs(${name})
endfunction()
