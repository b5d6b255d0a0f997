# Headers parsed once for all targets that are compiled alike: most sources need longer to read them than for everything
# else. Sanitizer builds go without: what they compile is also seen without it.

option(LOCKSTEP_PRECOMPILE "Precompile the standard library's headers and the emulator's (half of a build's time)" ON)

# What a test computes itself is little; to compile it fast is worth more.
set(LOCKSTEP_TEST_OPTIONS "$<$<AND:$<CONFIG:Release>,${LOCKSTEP_IS_CXX}>:-O1>")

# lockstep_precompile(name HEADERS <map> <set> [OPTIONS -fPIC] [DEPENDS lockstep::x])
# Makes lockstep_precompiled_<name>. Who reuses it has the same options and dependencies.
function(lockstep_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;OPTIONS;DEPENDS")
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/precompiled_${name}.cpp" CONTENT "// Owns a precompiled header.\n")
  add_library(lockstep_precompiled_${name} STATIC "${PROJECT_BINARY_DIR}/precompiled_${name}.cpp")
  target_link_libraries(lockstep_precompiled_${name} PRIVATE ${arg_DEPENDS})
  target_compile_options(lockstep_precompiled_${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(lockstep_precompiled_${name} PRIVATE ${arg_HEADERS})
endfunction()

if(LOCKSTEP_PRECOMPILE AND NOT LOCKSTEP_SANITIZE)
  set(headers
    <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring> <deque>
    <exception> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <numeric> <optional> <set>
    <source_location> <span> <sstream> <string> <string_view> <thread> <utility> <vector>)
  lockstep_precompile(ordinary HEADERS ${headers} DEPENDS lockstep::plain_options)
  # For programs of exercises, in which the standard library checks its arguments.
  lockstep_precompile(exercise HEADERS ${headers} DEPENDS lockstep::plain_options)
  target_compile_definitions(lockstep_precompiled_exercise PRIVATE _GLIBCXX_ASSERTIONS)
  # For the parts of the emulator's shared library.
  lockstep_precompile(emulator HEADERS ${headers} DEPENDS lockstep::plain_options)
  set_target_properties(lockstep_precompiled_emulator PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  if(LOCKSTEP_BUILD_TESTS)
    lockstep_precompile(tests HEADERS ${headers} "${PROJECT_SOURCE_DIR}/tests/support/catch.hpp"
      OPTIONS ${LOCKSTEP_TEST_OPTIONS} DEPENDS lockstep::plain_options Catch2::Catch2)
  endif()
endif()

# lockstep_use_precompiled(target ordinary): for targets with no options of their own that change code. g++ 14 takes no
# header that was compiled at another -O.
function(lockstep_use_precompiled target name)
  if(NOT TARGET lockstep_precompiled_${name})
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM lockstep_precompiled_${name})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "$<${LOCKSTEP_IS_CXX}:-fpch-preprocess>")  # for ccache
    # g++ 12 finds these inside std::string, and no longer knows that a precompiled header is the system's. Builds
    # without it (sanitizers) keep the warnings.
    target_compile_options(${target} PRIVATE
      "$<${LOCKSTEP_IS_CXX}:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()

# For test programs and what only they link.
function(lockstep_compile_as_test target)
  target_compile_options(${target} PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  lockstep_use_precompiled(${target} tests)
endfunction()
