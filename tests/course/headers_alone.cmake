# cmake -DFIXTURE=folder -DSCRATCH=folder -DMODULES=common/cmake -P headers_alone.cmake
# `cmake --build ... --target all_verify_interface_header_sets` compiles every public header on its own. A small project
# whose header does not compile alone must fail there, and by that header.
file(REMOVE_RECURSE "${SCRATCH}")
execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${FIXTURE}" -B "${SCRATCH}" "-DCMAKE_MODULE_PATH=${MODULES}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${SCRATCH}" --target all_verify_interface_header_sets
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "needs_string.hpp:3:[0-9]+: error")
  message(FATAL_ERROR "a header that does not compile alone was not rejected:\n${output}")
endif()
