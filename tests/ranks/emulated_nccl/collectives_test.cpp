#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>

#include "nccl_ranks.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace lockstep::test;

namespace {

const std::vector<int> kSizes{1, 2, 3, 4, 5, 8};

std::vector<std::size_t> counts_for(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  return {0, 1, ranks - 1, ranks, ranks + 1, 1003};
}

// Rank r's elements: 8^r, which read in base 8 tells how often each rank is in a sum (8^8 - 1 fits a float's 24 bits),
// times an element's own sign.
float decodable(int rank, std::size_t i) { return std::ldexp(i % 3 == 0 ? -1.0F : 1.0F, 3 * rank); }

std::vector<float> filled(std::size_t count, float value) { return std::vector<float>(count, value); }

std::vector<float> decodables(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = decodable(rank, i);
  return values;
}

float sum_over_ranks(int size, std::size_t i) {
  float sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += decodable(rank, i);
  return sum;
}

void expect_equal(const std::vector<float>& values, const std::function<float(std::size_t)>& expected,
                  const std::string& what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected(i)) continue;
    expect(false, what + ": element " + std::to_string(i) + " is " + std::to_string(values[i]));
  }
}

// Memory of this process that is in use now.
std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct Bfloat16 {
  std::uint16_t bits;
};

template <typename T>
T element(double value) {
  if constexpr (std::is_same_v<T, Bfloat16>) {
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    return {static_cast<std::uint16_t>(bits >> 16)};
  } else {
    return static_cast<T>(value);
  }
}

double reduced(ncclRedOp_t op, int size, std::size_t i) {
  // 1 or 2: sums up to 16, their eighths, and products up to 2^8 are exact in every type.
  const auto value = [&](int rank) { return static_cast<double>((static_cast<std::size_t>(rank) + i) % 2 + 1); };
  double result = value(0);
  for (int rank = 1; rank < size; ++rank) {
    const double next = value(rank);
    if (op == ncclSum || op == ncclAvg) result += next;
    if (op == ncclProd) result *= next;
    if (op == ncclMin) result = std::min(result, next);
    if (op == ncclMax) result = std::max(result, next);
  }
  return op == ncclAvg ? result / size : result;
}

template <typename T>
void check_type(ncclDataType_t type) {
  constexpr std::size_t kCount = 11;
  for (const int size : {1, 2, 4, 8}) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg}) {
        std::vector<T> values(kCount), expected(kCount);
        for (std::size_t i = 0; i < kCount; ++i) {
          values[i] = element<T>(static_cast<double>((static_cast<std::size_t>(own.rank) + i) % 2 + 1));
          expected[i] = element<T>(reduced(op, size, i));
        }
        const DeviceArray<T> array(values);
        ok(ncclAllReduce(array.data(), array.data(), kCount, type, op, own.comm, own.stream));
        expect(std::memcmp(array.values(own.stream).data(), expected.data(), kCount * sizeof(T)) == 0,
               "type " + std::to_string(type) + ", reduction " + std::to_string(op));
      }
    });
    CHECK(errors == no_errors(size));
  }
}

}  // namespace

TEST_CASE("all_reduce and reduce add every rank once, whatever the count, in place and not", "[emulated_nccl]") {
  for (const int size : kSizes) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      for (const std::size_t count : counts_for(size)) {
        const auto sum = [&](std::size_t i) { return sum_over_ranks(size, i); };
        const DeviceArray<float> in_place(decodables(own.rank, count)), from(decodables(own.rank, count)),
            to(filled(count, 7.0F)), at_root(decodables(own.rank, count));
        ok(ncclAllReduce(in_place.data(), in_place.data(), count, ncclFloat32, ncclSum, own.comm, own.stream));
        ok(ncclAllReduce(from.data(), to.data(), count, ncclFloat32, ncclSum, own.comm, own.stream));
        const int root = size - 1;
        ok(ncclReduce(at_root.data(), at_root.data(), count, ncclFloat32, ncclSum, root, own.comm, own.stream));
        expect_equal(in_place.values(own.stream), sum, "all_reduce in place");
        expect_equal(to.values(own.stream), sum, "all_reduce");
        expect_equal(
            from.values(own.stream), [&](std::size_t i) { return decodable(own.rank, i); }, "its input");
        expect_equal(
            at_root.values(own.stream),
            [&](std::size_t i) { return own.rank == root ? sum(i) : decodable(own.rank, i); }, "reduce");
      }
    });
    CHECK(errors == no_errors(size));
  }
}

TEST_CASE("broadcast gives every rank the root's elements", "[emulated_nccl]") {
  for (const int size : kSizes) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      for (const std::size_t count : counts_for(size)) {
        const int root = size / 2;
        const DeviceArray<float> from(decodables(own.rank, count)), to(filled(count, 0.0F)),
            in_place(decodables(own.rank, count));
        const float* const send = own.rank == root ? from.data() : nullptr;  // others need none
        ok(ncclBroadcast(send, to.data(), count, ncclFloat32, root, own.comm, own.stream));
        ok(ncclBcast(in_place.data(), count, ncclFloat32, root, own.comm, own.stream));
        const auto expected = [&](std::size_t i) { return decodable(root, i); };
        expect_equal(to.values(own.stream), expected, "broadcast");
        expect_equal(in_place.values(own.stream), expected, "bcast");
      }
    });
    CHECK(errors == no_errors(size));
  }
}

TEST_CASE("all_gather and reduce_scatter know whose part is where, in place and not", "[emulated_nccl]") {
  for (const int size : kSizes) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      for (const std::size_t count : counts_for(size)) {
        const auto ranks = static_cast<std::size_t>(size), rank = static_cast<std::size_t>(own.rank);
        const auto gathered = [&](std::size_t i) { return decodable(static_cast<int>(i / count), i % count); };
        const DeviceArray<float> from(decodables(own.rank, count)), to(filled(count * ranks, 0.0F));
        ok(ncclAllGather(from.data(), to.data(), count, ncclFloat32, own.comm, own.stream));
        expect_equal(to.values(own.stream), gathered, "all_gather");

        std::vector<float> own_part(count * ranks, 5.0F);
        for (std::size_t i = 0; i < count; ++i) own_part[rank * count + i] = decodable(own.rank, i);
        const DeviceArray<float> whole(own_part);
        ok(ncclAllGather(whole.data() + rank * count, whole.data(), count, ncclFloat32, own.comm, own.stream));
        expect_equal(whole.values(own.stream), gathered, "all_gather in place");

        const auto sum = [&](std::size_t i) { return sum_over_ranks(size, rank * count + i); };
        const DeviceArray<float> parts(decodables(own.rank, count * ranks)), part(filled(count, 0.0F));
        ok(ncclReduceScatter(parts.data(), part.data(), count, ncclFloat32, ncclSum, own.comm, own.stream));
        expect_equal(part.values(own.stream), sum, "reduce_scatter");
        ok(ncclReduceScatter(parts.data(), parts.data() + rank * count, count, ncclFloat32, ncclSum, own.comm,
                             own.stream));
        const std::vector<float> all = parts.values(own.stream);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * count);
        expect_equal({begin, begin + static_cast<std::ptrdiff_t>(count)}, sum, "reduce_scatter in place");
      }
    });
    CHECK(errors == no_errors(size));
  }
}

TEST_CASE("the memory for an operation's copies serves the stream's next operation", "[emulated_nccl]") {
#ifdef __SANITIZE_ADDRESS__
  lockstep::test::skip("the address sanitizer keeps memory that is freed");
#endif
  constexpr std::size_t kCount = std::size_t{1} << 18;  // 1 MiB in, 1 MiB out
  const auto errors = run_nccl_ranks(1, [](NcclRank& own) {
    const DeviceArray<float> array(filled(kCount, 1.0F));
    const auto reduce = [&] {
      ok(ncclAllReduce(array.data(), array.data(), kCount, ncclFloat32, ncclSum, own.comm, own.stream));
      ok(cudaStreamSynchronize(own.stream));
    };
    reduce();
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 200; ++i) reduce();
    const std::size_t after = resident_bytes();
    expect(after < before + (std::size_t{100} << 20),
           "200 operations keep " + std::to_string(after - before) + " bytes");
  });
  CHECK(errors == no_errors(1));
}

TEST_CASE("every reduction is right in every type that is reduced", "[emulated_nccl]") {
  check_type<std::int32_t>(ncclInt32);
  check_type<std::int64_t>(ncclInt64);
  check_type<float>(ncclFloat32);
  check_type<double>(ncclFloat64);
  check_type<Bfloat16>(ncclBfloat16);
}

TEST_CASE("a ring of sends and receives in a group moves on, whichever comes first", "[emulated_nccl]") {
  constexpr std::size_t kCount = 1 << 20;  // far more than sockets hold
  for (const int size : kSizes) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      const int next = (own.rank + 1) % size, previous = (own.rank + size - 1) % size;
      const DeviceArray<float> from(decodables(own.rank, kCount)), to(filled(kCount, 0.0F));
      ok(ncclGroupStart());
      if (own.rank % 2 == 0) ok(ncclRecv(to.data(), kCount, ncclFloat32, previous, own.comm, own.stream));
      ok(ncclSend(from.data(), kCount, ncclFloat32, next, own.comm, own.stream));
      if (own.rank % 2 == 1) ok(ncclRecv(to.data(), kCount, ncclFloat32, previous, own.comm, own.stream));
      ok(ncclGroupEnd());
      expect_equal(
          to.values(own.stream), [&](std::size_t i) { return decodable(previous, i); }, "ring");
    });
    CHECK(errors == no_errors(size));
  }
}

TEST_CASE("all to all by grouped sends and receives, in different orders on every rank", "[emulated_nccl]") {
  constexpr std::size_t kCount = 100'000;
  for (const int size : kSizes) {
    const auto errors = run_nccl_ranks(size, [&](NcclRank& own) {
      const auto ranks = static_cast<std::size_t>(size);
      const DeviceArray<float> from(filled(kCount * ranks, static_cast<float>(own.rank))),
          to(filled(kCount * ranks, -1.0F));
      ok(ncclGroupStart());
      for (int step = 0; step < size; ++step) {
        const int out = (own.rank + step) % size, in = (own.rank * 3 + step) % size;
        ok(ncclSend(from.data() + static_cast<std::size_t>(out) * kCount, kCount, ncclFloat32, out, own.comm,
                    own.stream));
        ok(ncclRecv(to.data() + static_cast<std::size_t>(in) * kCount, kCount, ncclFloat32, in, own.comm, own.stream));
      }
      ok(ncclGroupEnd());
      expect_equal(
          to.values(own.stream), [&](std::size_t i) { return static_cast<float>(i / kCount); }, "all to all");
    });
    CHECK(errors == no_errors(size));
  }
}

TEST_CASE("several collectives in one group, on several streams", "[emulated_nccl]") {
  constexpr int kSize = 3;
  constexpr std::size_t kCount = 50'000;
  const auto errors = run_nccl_ranks(kSize, [&](NcclRank& own) {
    cudaStream_t other = nullptr;
    ok(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const DeviceArray<float> sums(decodables(own.rank, kCount)), from_root(decodables(own.rank, kCount)),
        gathered(filled(kCount * kSize, 0.0F)), own_part(decodables(own.rank, kCount));
    ok(ncclGroupStart());
    ok(ncclGroupStart());  // nesting changes nothing
    ok(ncclAllReduce(sums.data(), sums.data(), kCount, ncclFloat32, ncclSum, own.comm, own.stream));
    ok(ncclBcast(from_root.data(), kCount, ncclFloat32, 1, own.comm, other));
    ok(ncclGroupEnd());
    ok(ncclAllGather(own_part.data(), gathered.data(), kCount, ncclFloat32, own.comm, own.stream));
    ok(ncclGroupEnd());
    expect_equal(
        sums.values(own.stream), [&](std::size_t i) { return sum_over_ranks(kSize, i); }, "sums");
    expect_equal(
        from_root.values(other), [&](std::size_t i) { return decodable(1, i); }, "broadcast");
    expect_equal(
        gathered.values(own.stream), [&](std::size_t i) { return decodable(static_cast<int>(i / kCount), i % kCount); },
        "gathered");
    ok(cudaStreamDestroy(other));
  });
  CHECK(errors == no_errors(kSize));
}

TEST_CASE("two communicators on two streams run interleaved, in different orders on different ranks",
          "[emulated_nccl]") {
  constexpr int kSize = 4;
  constexpr std::size_t kCount = 1000;
  ncclUniqueId second_id{};
  ok(ncclGetUniqueId(&second_id));
  const auto errors = run_nccl_ranks(kSize, [&](NcclRank& own) {
    NcclRank second = own;
    ok(ncclCommInitRank(&second.comm, kSize, second_id, own.rank));
    ok(cudaStreamCreateWithFlags(&second.stream, cudaStreamNonBlocking));
    const DeviceArray<float> a(decodables(own.rank, kCount)), b(decodables(own.rank, kCount));
    const auto reduce = [&](const NcclRank& on, const DeviceArray<float>& array) {
      ok(ncclAllReduce(array.data(), array.data(), kCount, ncclFloat32, ncclMax, on.comm, on.stream));
    };
    for (int round = 0; round < 5; ++round) {
      if (own.rank % 2 == 0) reduce(own, a);
      reduce(second, b);
      if (own.rank % 2 == 1) reduce(own, a);
    }
    const auto largest = [&](std::size_t i) { return i % 3 == 0 ? -1.0F : decodable(kSize - 1, i); };
    expect_equal(a.values(own.stream), largest, "first");
    expect_equal(b.values(second.stream), largest, "second");
    ok(ncclCommDestroy(second.comm));
    ok(cudaStreamDestroy(second.stream));
  });
  CHECK(errors == no_errors(kSize));
}
