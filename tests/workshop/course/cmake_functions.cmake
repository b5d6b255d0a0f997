# cmake -DFIXTURE=folder -DSCRATCH=folder -DMODULES=common/cmake -P cmake_functions.cmake
file(REMOVE_RECURSE "${SCRATCH}")
execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${FIXTURE}" -B "${SCRATCH}" "-DCMAKE_MODULE_PATH=${MODULES}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

# A folder may have a name that would mean something else in a regular expression.
set(odd_folder "${SCRATCH}/c++ (1)")
file(COPY "${FIXTURE}/" DESTINATION "${odd_folder}")
execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${odd_folder}" -B "${odd_folder}/build"
                "-DCMAKE_MODULE_PATH=${MODULES}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ "${odd_folder}/build/targets.json" written_there)

# The graph tells what CMake knows of the targets.
file(READ "${SCRATCH}/targets.json" written)
file(READ "${FIXTURE}/expected_targets.json" expected)
foreach(graph IN ITEMS written written_there)
  string(JSON is_equal EQUAL "${${graph}}" "${expected}")
  if(NOT is_equal)
    message(FATAL_ERROR "targets.json is not as expected:\n${${graph}}")
  endif()
endforeach()

# `cmake --build ... --target all_verify_interface_header_sets` compiles every public header on its own. The header that
# does not compile alone must fail there, and by its name.
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${SCRATCH}" --target all_verify_interface_header_sets
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "needs_string.hpp:3:[0-9]+: error")
  message(FATAL_ERROR "a header that does not compile alone was not rejected:\n${output}")
endif()

# A module that uses one of a later wing is refused, also behind a target that stands for a backend.
function(expect_refusal name words)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${FIXTURE}" -B "${SCRATCH}/${name}" -D${name}=ON
                  "-DCMAKE_MODULE_PATH=${MODULES}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "${words}")
    message(FATAL_ERROR "a wrong order of wings (${name}) was not refused:\n${output}")
  endif()
endfunction()
expect_refusal(WRONG_WING "lockstep::early in .*/common/gpu/early uses lockstep::late in .*/common/ranks/late, a later wing")
expect_refusal(WRONG_WING_BEHIND "lockstep::early in .*/common/gpu/early uses lockstep::late in .*/common/ranks/late")
