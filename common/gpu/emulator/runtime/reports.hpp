#pragma once
/// @file
/// What the runtime has to say of a program's mistakes: each sentence names the call and what to do.
#include <string>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"

namespace lockstep::emulator {

/// One of two calls that nothing orders.
struct ReportedCall {
  const char* name = "";  ///< Of the API function.
  SourcePlace place;      ///< Of the call, where known.
  bool is_write = false;  ///< What it does to the shared bytes.
};

/// Two streams use the same bytes, one of them writes, and nothing orders them.
/// @param shared  First of the bytes.
void report_unordered(const ReportedCall& later, const ReportedCall& earlier, const void* shared);

/// Host code touched pinned memory that an asynchronous copy uses for which it has not waited.
/// @param pc  The instruction.
void report_unfinished_copy(const void* address, const void* pc, bool is_write);

/// In checked mode: why a call returns an error. @param call  Of the API. @return  `error`.
cudaError_t explain(cudaError_t error, const char* call, const std::string& why);

/// "file:line" or an empty text.
std::string to_text(SourcePlace place);

/// What lies at an address, for messages: "device memory (offset 8 of 1024 bytes, allocated at main.cu:12)".
std::string describe_address(const void* address);

}  // namespace lockstep::emulator
