#pragma once
/// @file
/// Reports of the runtime on a program's mistakes: each sentence names the call and the remedy.
#include <string>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"

namespace lockstep::emulator {

/// An asynchronous call.
struct ReportedCall {
  const char* name = "";  ///< Of the API function.
  SourcePlace place;      ///< Of the call, if known.
  bool is_write = false;  ///< How it uses the memory.
};

/// An access of host code.
struct HostAccess {
  const void* pc = nullptr;  ///< Of the instruction.
  bool is_write = false;
};

/// Host code touched pinned memory before waiting for an asynchronous copy that uses it.
void report_unfinished_copy(const void* address, const HostAccess& access, const ReportedCall& copy);

/// In checked mode, explains why a call returns an error. @param call  Name of the API function. @return  `error`.
cudaError_t explain(cudaError_t error, const char* call, const std::string& why);

/// "file:line", or empty.
std::string to_text(SourcePlace place);

/// Describes an address for messages: "device memory (offset 8 of 1024 bytes, allocated at main.cu:12)".
std::string describe_address(const void* address);

}  // namespace lockstep::emulator
