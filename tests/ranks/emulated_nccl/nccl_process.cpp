// One rank as a process of its own: nccl_process RANK SIZE FOLDER [end]. Rank 0 leaves the id in FOLDER.
// end: "destroy" (default), "exit" with a communicator that lives, "hang" in a collective at the end of main(),
//      "die" before the second collective.
#include <nccl.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
constexpr std::size_t kCount = 5000;

ncclUniqueId exchange_id(int rank, const fs::path& folder) {
  ncclUniqueId id{};
  if (rank == 0) {
    ncclGetUniqueId(&id);
    std::ofstream(folder / "id.part", std::ios::binary).write(id.internal, sizeof(id.internal));
    fs::rename(folder / "id.part", folder / "id");
  } else {
    while (!fs::exists(folder / "id")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::ifstream(folder / "id", std::ios::binary).read(id.internal, sizeof(id.internal));
  }
  return id;
}

ncclResult_t wait_for_error(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  while (state == ncclSuccess) {
    ncclCommGetAsyncError(comm, &state);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return state;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int rank = std::stoi(argv[1]), size = std::stoi(argv[2]);
  const std::string end = argc > 4 ? argv[4] : "destroy";
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, size, exchange_id(rank, argv[3]), rank) != ncclSuccess) {
    std::cerr << ncclGetLastError(nullptr) << "\n";
    return 1;
  }
  float* array = nullptr;
  cudaMalloc(&array, kCount * sizeof(float));
  std::vector<float> values(kCount, static_cast<float>(rank + 1));
  cudaMemcpy(array, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  ncclAllReduce(array, array, kCount, ncclFloat32, ncclSum, comm, stream);
  cudaMemcpyAsync(values.data(), array, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::cout << "sum " << values.front() << " " << values.back() << std::endl;
  if (end == "exit") return 0;
  if (end == "die" && rank == size - 1) std::raise(SIGKILL);
  if (end != "destroy") ncclAllReduce(array, array, kCount, ncclFloat32, ncclSum, comm, stream);
  if (end == "hang") return 0;
  if (end == "die") {
    std::cout << "async error " << wait_for_error(comm) << std::endl;
    ncclCommAbort(comm);
    cudaStreamSynchronize(stream);
    return 0;
  }
  ncclCommDestroy(comm);
  return 0;
}
