# The standard library's headers, parsed once for all targets: most sources need longer to read them than for everything
# else. Sanitizer builds go without: what they compile is also seen without it.

option(LOCKSTEP_PRECOMPILE "Precompile the standard library's headers (a third of a build's time)" ON)

if(LOCKSTEP_PRECOMPILE AND NOT LOCKSTEP_SANITIZE)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/precompiled.cpp" CONTENT "// Owns a precompiled header.\n")
  # For ordinary targets, and for the parts of the emulator's shared library.
  foreach(name IN ITEMS lockstep_precompiled lockstep_precompiled_shared)
    add_library(${name} STATIC "${PROJECT_BINARY_DIR}/precompiled.cpp")
    target_link_libraries(${name} PRIVATE lockstep::plain_options)
    target_precompile_headers(${name} PRIVATE
      <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstring> <deque>
      <exception> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <numeric> <optional> <set>
      <source_location> <span> <sstream> <string> <string_view> <thread> <utility> <vector>)
  endforeach()
  set_target_properties(lockstep_precompiled_shared PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
endif()

# lockstep_use_precompiled(target [_shared]): for targets with no options of their own that change code.
function(lockstep_use_precompiled target)
  if(NOT TARGET lockstep_precompiled)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM lockstep_precompiled${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "$<${LOCKSTEP_IS_CXX}:-fpch-preprocess>")  # for ccache
    # g++ 12 finds these inside std::string, and no longer knows that a precompiled header is the system's. Builds
    # without it (sanitizers) keep the warnings.
    target_compile_options(${target} PRIVATE
      "$<${LOCKSTEP_IS_CXX}:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()
