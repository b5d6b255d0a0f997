#include "comm/host/reduce_many.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "comm/reduce.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using comm::ReduceOp;

namespace {

const std::vector<ReduceOp> kOps{ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kMean};

// Random values between -4 and 4; bfloat16 has the upper half of a float32.
std::vector<std::byte> random_elements(DType dtype, std::size_t count, std::uint64_t stream) {
  PhiloxSequence words(5, stream);
  std::vector<std::byte> bytes(count * bytes_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(words.next_word() % 8000) / 1000.0F - 4.0F;
    const auto put = [&](auto element) { std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element); };
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (dtype == DType::kFloat32) put(value);
    if (dtype == DType::kFloat64) put(static_cast<double>(value));
    if (dtype == DType::kBFloat16) put(static_cast<std::uint16_t>(bits >> 16));
    if (dtype == DType::kInt32) put(static_cast<std::int32_t>(words.next_word()));  // products wrap
    if (dtype == DType::kInt64) put(static_cast<std::int64_t>(words.next_word()) << 30);
  }
  return bytes;
}

}  // namespace

TEST_CASE("reducing many sources gives the bits of reducing one after another", "[comm]") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32, DType::kInt64}) {
    for (const ReduceOp op : kOps) {
      for (const std::size_t source_count : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{17}, std::size_t{5003}}) {
          std::vector<std::vector<std::byte>> buffers;
          for (std::size_t i = 0; i < source_count; ++i) buffers.push_back(random_elements(dtype, count, i));
          std::vector<std::byte> wanted = buffers[0];
          const auto elements = static_cast<std::int64_t>(count);
          for (std::size_t i = 1; i < source_count; ++i) {
            comm::reduce_into(wanted.data(), buffers[i].data(), elements, dtype, op);
          }
          comm::finish_mean(wanted.data(), elements, dtype, op, static_cast<int>(source_count));

          std::vector<std::byte> apart(wanted.size());
          std::vector<const void*> sources;
          std::vector<void*> destinations{apart.data()};
          for (auto& buffer : buffers) sources.push_back(buffer.data());
          comm::reduce_many(sources, destinations, elements, dtype, op);
          CHECK(apart == wanted);

          destinations.assign(sources.size(), nullptr);  // in place, the last source first
          for (std::size_t i = 0; i < source_count; ++i) destinations[i] = buffers[source_count - 1 - i].data();
          comm::reduce_many(sources, destinations, elements, dtype, op);
          for (const auto& buffer : buffers) CHECK(buffer == wanted);
        }
      }
    }
  }
}

TEST_CASE("reducing needs sources, destinations and a dtype with arithmetic", "[comm]") {
  float value = 1;
  const std::vector<const void*> sources{&value};
  const std::vector<void*> destinations{&value};
  CHECK_THROWS_AS(comm::reduce_many({}, destinations, 1, DType::kFloat32, ReduceOp::kSum), ContractError);
  CHECK_THROWS_AS(comm::reduce_many(sources, {}, 1, DType::kFloat32, ReduceOp::kSum), ContractError);
  CHECK_THROWS_AS(comm::reduce_many(sources, destinations, 1, DType::kUInt8, ReduceOp::kSum), ContractError);
}
