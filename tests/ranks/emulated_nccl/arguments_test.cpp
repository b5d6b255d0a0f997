#include <cstring>

#include "nccl_ranks.hpp"
#include "support/catch.hpp"

using namespace lockstep::test;

TEST_CASE("arguments that make no sense are refused, and nothing is enqueued", "[emulated_nccl]") {
  const auto errors = run_nccl_ranks(1, [](NcclRank& own) {
    const DeviceArray<float> array(std::vector<float>{1, 2, 3, 4});
    float host[4] = {};
    const auto reduce = [&](const void* send, ncclDataType_t type, ncclRedOp_t op, cudaStream_t stream) {
      return ncclAllReduce(send, array.data(), 4, type, op, own.comm, stream);
    };
    expect(reduce(host, ncclFloat32, ncclSum, own.stream) == ncclInvalidArgument, "host memory");
    expect(reduce(nullptr, ncclFloat32, ncclSum, own.stream) == ncclInvalidArgument, "null");
    expect(reduce(array.data(), ncclFloat16, ncclSum, own.stream) == ncclInvalidArgument, "float16");
    expect(reduce(array.data(), ncclNumTypes, ncclSum, own.stream) == ncclInvalidArgument, "type");
    expect(reduce(array.data(), ncclFloat32, ncclNumOps, own.stream) == ncclInvalidArgument, "reduction");
    expect(ncclBcast(array.data(), 4, ncclFloat32, 1, own.comm, own.stream) == ncclInvalidArgument, "root");
    expect(ncclSend(array.data(), 4, ncclFloat32, 0, own.comm, own.stream) == ncclInvalidUsage, "alone to itself");
    expect(ncclBcast(array.data(), 4, ncclFloat32, 0, nullptr, own.stream) == ncclInvalidArgument, "communicator");
    const std::size_t too_many = std::size_t{1} << 62;  // 2^64 bytes, which is 0
    expect(ncclAllReduce(array.data(), array.data(), too_many, ncclFloat32, ncclSum, own.comm, own.stream) ==
               ncclInvalidArgument,
           "count");
    cudaStream_t other = nullptr;
    ok(cudaSetDevice(1));
    ok(cudaStreamCreate(&other));
    expect(reduce(array.data(), ncclFloat32, ncclSum, other) == ncclInvalidArgument, "stream of another device");
    ok(cudaStreamDestroy(other));
    ok(cudaSetDevice(0));
    expect(reduce(array.data(), ncclFloat32, ncclSum, other) == ncclInvalidArgument, "a stream that has ended");
    expect(cudaGetLastError() == cudaSuccess, "the program's next question about CUDA's errors is about its own");
    ok(ncclGroupStart());
    ok(reduce(array.data(), ncclFloat32, ncclSum, own.stream));
    expect(reduce(host, ncclFloat32, ncclSum, own.stream) == ncclInvalidArgument, "in a group");
    expect(ncclGroupEnd() == ncclInvalidArgument, "the group");
    expect(ncclGroupEnd() == ncclInvalidUsage, "no group");
    ok(reduce(array.data(), ncclFloat32, ncclSum, own.stream));  // as good as before
    ok(cudaStreamSynchronize(own.stream));
  });
  CHECK(errors == no_errors(1));
}

// A graph would run an operation again whose memory is given back when it has run once.
TEST_CASE("an operation in a captured stream is refused, and the capture is as good as before", "[emulated_nccl]") {
  const auto errors = run_nccl_ranks(1, [](NcclRank& own) {
    const DeviceArray<float> array(std::vector<float>{1, 2, 3, 4});
    const auto reduce = [&] {
      return ncclAllReduce(array.data(), array.data(), 4, ncclFloat32, ncclSum, own.comm, own.stream);
    };
    cudaGraph_t graph = nullptr;
    std::size_t nodes = 0;
    ok(cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeRelaxed));
    ok(cudaMemsetAsync(array.data(), 0, sizeof(float), own.stream));
    expect(reduce() == ncclInvalidUsage, "captured");
    expect(std::string(ncclGetLastError(nullptr)).find("captured") != std::string::npos, "the reason");
    ok(cudaStreamEndCapture(own.stream, &graph));
    ok(cudaGraphGetNodes(graph, nullptr, &nodes));
    expect(nodes == 1, "the capture has " + std::to_string(nodes) + " operations");
    ok(cudaGraphDestroy(graph));
    ok(reduce());
    ok(cudaStreamSynchronize(own.stream));
  });
  CHECK(errors == no_errors(1));
}

TEST_CASE("an id, a rank or a configuration that makes no sense is refused", "[emulated_nccl]") {
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidArgument);
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  CHECK(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
  CHECK(ncclCommInitRank(&comm, 0, id, 0) == ncclInvalidArgument);
  CHECK(ncclCommInitRank(nullptr, 1, id, 0) == ncclInvalidArgument);
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
  CHECK(ncclCommSplit(nullptr, 0, 0, &comm, nullptr) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);  // other ranks of the group would wait for this one
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 8;
  config.maxCTAs = 4;
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  std::memset(&config, 0, sizeof(config));
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK_THAT(ncclGetLastError(nullptr), ContainsSubstring("NCCL_CONFIG_INITIALIZER"));
}

TEST_CASE("the library says what it is, and gives memory", "[emulated_nccl]") {
  int version = 0;
  CHECK(ncclGetVersion(&version) == ncclSuccess);
  CHECK(version == NCCL_VERSION_CODE);
  CHECK(LOCKSTEP_EMULATED_NCCL == 1);
  CHECK(std::string(ncclGetErrorString(ncclRemoteError)) != ncclGetErrorString(ncclSystemError));
  void* memory = nullptr;
  CHECK(ncclMemAlloc(&memory, 4096) == ncclSuccess);
  CHECK(ncclMemFree(memory) == ncclSuccess);
}
