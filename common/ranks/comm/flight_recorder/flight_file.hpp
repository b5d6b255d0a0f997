#pragma once
// The layout of a flight recorder's file, shared by writer and reader (of the same build). Internal to this module.
#include <array>
#include <cstdint>

#include "comm/flight_recorder/flight_recorder.hpp"

namespace lockstep::comm {

constexpr std::uint64_t kFlightMagic = 0x36544847494C464C;  // "LFLIGHT6"

struct FlightSlot {
  std::uint64_t sequence = 0;
  net::FrameTag tag{};
  std::int64_t issued_ns = 0;
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
  std::int32_t group = 0;
  std::uint32_t line = 0;
  std::array<char, 95> file{};
  std::uint8_t state = 0;
  std::array<char, CallTag::kMaxBytes + 1> call_tag{};  // its text, zero-terminated
};

// Groups one after the other: number, count of ranks, ranks.
struct FlightGroups {
  std::uint32_t used = 0;
  std::array<std::int32_t, 16'384> numbers{};
};

struct FlightRecorder::File {
  std::uint64_t magic;
  std::int32_t rank;
  std::int32_t world_size;
  std::int32_t generation;
  std::int64_t process_id;
  std::uint64_t entry_count;
  std::int64_t failure_ns;
  std::int32_t culprit;
  std::uint8_t has_failure;
  std::array<char, 512> failure;
  std::array<FlightSlot, kCapacity> slots;
  FlightGroups groups;
};

// The file's content as a FlightRecord.
[[nodiscard]] FlightRecord to_record(const FlightRecorder::File& file);

}  // namespace lockstep::comm
