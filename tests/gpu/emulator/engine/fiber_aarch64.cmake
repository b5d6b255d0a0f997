# cmake -DROOT=folder -DSCRATCH=folder -P fiber_aarch64.cmake: compiles the fibers for aarch64 and runs them under qemu.
find_program(compiler aarch64-linux-gnu-g++)
find_program(machine NAMES qemu-aarch64 qemu-aarch64-static)
if(NOT compiler OR NOT machine)
  message("SKIPPED: needs aarch64-linux-gnu-g++ and qemu-aarch64 (Debian: g++-aarch64-linux-gnu, qemu-user)")
  return()
endif()
foreach(optimization IN ITEMS -O0 -O2)
  set(program "${SCRATCH}/fiber_aarch64_test${optimization}")
  execute_process(COMMAND "${compiler}" -std=c++20 ${optimization} -static "-I${ROOT}/common" "-I${ROOT}/common/gpu"
                          "${ROOT}/common/gpu/emulator/engine/fiber.cpp" "${ROOT}/tests/gpu/emulator/engine/fiber_test.cpp"
                          -o "${program}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${machine}" "${program}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
