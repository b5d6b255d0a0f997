# What every target of the project is compiled with, and the switches a user may set.

set(has_tests OFF)
if(EXISTS "${PROJECT_SOURCE_DIR}/tests/CMakeLists.txt")  # releases for students have none
  set(has_tests ON)
endif()
option(LOCKSTEP_BUILD_TESTS "Build the tests" ${has_tests})
option(LOCKSTEP_NATIVE "Compile for the processor of this machine (-march=native)" ON)
option(LOCKSTEP_CARRIED "Build for another machine than this (preset carry)" OFF)
option(LOCKSTEP_WARNINGS_AS_ERRORS "Treat warnings as errors (contributors' presets set it)" OFF)
option(LOCKSTEP_USE_OPENMP "Run kernels on several threads with OpenMP" ON)
set(has_fast_onednn ON)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # Debian builds oneDNN for arm64 without the Arm Compute Library, and its own matrix product there is a plain loop
  # (ARM-software/Tool-Solutions, issue 168).
  set(has_fast_onednn OFF)
endif()
option(LOCKSTEP_USE_ONEDNN "Use oneDNN for matrix products if it is installed (else Eigen)" ${has_fast_onednn})
option(LOCKSTEP_UNITY "Compile sources that change seldom several at a time (half of a build's time)" ON)
option(LOCKSTEP_FUZZ "Build the fuzzers of tests/fuzz with clang's libFuzzer (preset fuzz)" OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Line numbers in stack traces cost little; full debug information triples the build folder.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# lockstep::plain_options: the same without sanitizers, for code that answers their hooks itself (common/gpu/emulator).
add_library(lockstep_plain_options INTERFACE)
add_library(lockstep::plain_options ALIAS lockstep_plain_options)
add_library(lockstep_options INTERFACE)
add_library(lockstep::options ALIAS lockstep_options)
target_link_libraries(lockstep_options INTERFACE lockstep_plain_options)
# Who uses an installed Lockstep (LockstepInstall.cmake) gets the language, and neither warnings nor a processor.
target_compile_features(lockstep_plain_options INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
target_include_directories(lockstep_plain_options INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/common>"
                                                            "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/chapters>")
# What nvcc compiles gets its own options (common/cmake/LockstepCuda.cmake).
set(LOCKSTEP_IS_CXX "$<COMPILE_LANGUAGE:CXX>")
target_compile_options(lockstep_plain_options INTERFACE
  "$<BUILD_INTERFACE:$<${LOCKSTEP_IS_CXX}:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # From 13 on g++ suspects every reference that a function with a temporary argument returns.
  target_compile_options(lockstep_plain_options INTERFACE
    "$<BUILD_INTERFACE:$<${LOCKSTEP_IS_CXX}:-Wno-dangling-reference>>")
endif()
if(LOCKSTEP_WARNINGS_AS_ERRORS)
  target_compile_options(lockstep_plain_options INTERFACE "$<BUILD_INTERFACE:$<${LOCKSTEP_IS_CXX}:-Werror>>")
endif()
if(LOCKSTEP_NATIVE)
  # g++ 12 picks poor tunings for processors it does not know: instructions native, scheduling generic.
  target_compile_options(lockstep_plain_options INTERFACE
    "$<BUILD_INTERFACE:$<${LOCKSTEP_IS_CXX}:-march=native;-mtune=generic>>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING)
    # g++ 12.2 with AVX-512 makes {1, 1, 1, 1} of this list: a constant of 32 bytes whose second half is zeros is taken for
    # one number repeated. Without the vectorizer of straight-line code there are no such constants.
    include(CheckCXXSourceRuns)
    set(CMAKE_REQUIRED_FLAGS "-O2 -march=native -mtune=generic")
    check_cxx_source_runs("#include <vector>
      __attribute__((noinline)) std::vector<long> list() { return {1, 1, 0, 0}; }
      int main() { return static_cast<int>(list().back()); }" LOCKSTEP_COMPILER_KEEPS_LISTS)
    unset(CMAKE_REQUIRED_FLAGS)
    if(NOT LOCKSTEP_COMPILER_KEEPS_LISTS)
      target_compile_options(lockstep_plain_options INTERFACE
        "$<BUILD_INTERFACE:$<${LOCKSTEP_IS_CXX}:-fno-tree-slp-vectorize>>")
    endif()
  endif()
endif()
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_options INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  # Instrumented code hides from g++ 12 that the standard library's own variables are set.
  target_compile_options(lockstep_options INTERFACE -Wno-maybe-uninitialized)
  target_link_options(lockstep_options INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()
if(LOCKSTEP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LOCKSTEP_FUZZ needs clang with libFuzzer: cmake --preset fuzz")
  endif()
  target_compile_options(lockstep_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(lockstep_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
