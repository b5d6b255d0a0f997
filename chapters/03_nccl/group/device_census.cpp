#include "03_nccl/group/device_census.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "03_nccl/group/communicator.hpp"
#include "base/error.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/joining/versions.hpp"
#include "device/cuda_check.hpp"
#include "store/store.hpp"

namespace lockstep::nccl {
namespace {

using namespace std::chrono_literals;

constexpr auto kFarewellLimit = 2s;

// Equal for two ranks exactly if they have the same GPU. An emulated device belongs to its process.
std::string identity_of(Device device, const cudaDeviceProp& properties) {
  if (device.type == DeviceType::kEmulated) return concat("emulated ", getpid(), ":", device.index);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : properties.uuid.bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::string version_text(int version) { return concat(version / 1000, '.', version % 1000 / 10); }

// A rank's entry: versions of the software and the driver, and the identity of its GPU.
struct Entry {
  comm::Versions versions;
  std::string device;
};

Entry own_entry(Device device) {
  make_current(device);
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device.index), "asking for the GPU's properties");
  int driver = 0, runtime = 0;
  cuda_check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  cuda_check(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
  Entry entry{comm::own_versions(), identity_of(device, properties)};
  entry.versions.device = properties.name;
  entry.versions.driver = version_text(driver);
  entry.versions.cuda = version_text(runtime);
  entry.versions.nccl = library_version();
  return entry;
}

std::string device_key(const std::string& prefix, int rank) { return concat(prefix, "device/", rank); }

std::vector<Entry> exchange(const comm::JobContext& context, const std::string& prefix, const Entry& own,
                            const Deadline& deadline) {
  if (context.world_size == 1) return {own};
  comm::publish_versions(*context.store, prefix, context.rank, own.versions);
  context.store->set(device_key(prefix, context.rank), own.device);  // last: a rank that sees it finds the versions too
  std::vector<Entry> all;
  for (int rank = 0; rank < context.world_size; ++rank) {
    const std::string task =
        concat("rank ", context.global_rank(context.rank), ": comparing devices with rank ", context.global_rank(rank));
    std::string device = comm::get_or_fail(context, device_key(prefix, rank), task, deadline);
    all.push_back({comm::read_versions(*context.store, prefix, rank, deadline), std::move(device)});
  }
  return all;
}

// A rank that exits with an error ends the job, so it stays until the others have read enough to report the same error.
void wait_until_all_know(const comm::JobContext& context, const std::string& prefix) noexcept {
  const auto deadline = Deadline::after(kFarewellLimit);
  try {
    context.store->set(concat(prefix, "knows/", context.rank), "1");
    for (int rank = 0; rank < context.world_size; ++rank) {
      (void)context.store->get(concat(prefix, "knows/", rank), deadline);
    }
  } catch (const std::exception&) {  // they fail to join, with their own errors
  }
}

// The ranks of each GPU that several ranks have.
std::vector<std::vector<int>> sharing_ranks(const std::vector<Entry>& entries) {
  std::map<std::string, std::vector<int>> by_device;
  for (std::size_t rank = 0; rank < entries.size(); ++rank) {
    by_device[entries[rank].device].push_back(static_cast<int>(rank));
  }
  std::vector<std::vector<int>> sharing;
  for (auto& [device, ranks] : by_device) {
    if (ranks.size() > 1) sharing.push_back(std::move(ranks));
  }
  return sharing;
}

std::string names_of(const comm::JobContext& context, const std::vector<int>& ranks) {
  std::string names = "ranks";
  for (const int rank : ranks) names += concat(rank == ranks.front() ? " " : ", ", context.global_rank(rank));
  return names;
}

// NCCL compares host and GPU, and treats two ranks on one GPU as a mistake. Up to 2.29 a different host id hides it;
// from 2.30 on a variable allows it. The ranks then communicate over sockets, and one rank's kernels must not fill the
// GPU while they wait for another's: few blocks, the simplest algorithm and protocol.
void prepare_sharing(int rank) {
  const std::string host_id = concat("lockstep-", getpid(), "-", rank);
  const std::array<std::pair<const char*, const char*>, 8> settings{{{"NCCL_HOSTID", host_id.c_str()},
                                                                     {"NCCL_MULTI_RANK_GPU_ENABLE", "1"},
                                                                     {"NCCL_SOCKET_IFNAME", "lo"},
                                                                     {"NCCL_NVLS_ENABLE", "0"},
                                                                     {"NCCL_MNNVL_ENABLE", "0"},
                                                                     {"NCCL_ALGO", "Ring"},
                                                                     {"NCCL_PROTO", "Simple"},
                                                                     {"NCCL_MAX_CTAS", "1"}}};
  for (const auto& [name, value] : settings) setenv(name, value, /*overwrite=*/0);
}

}  // namespace

bool exchange_device_ids(const comm::JobContext& context, const std::string& prefix, Device device, bool may_share,
                         const Deadline& deadline) {
  device.require_available();
  const std::vector<Entry> entries = exchange(context, prefix, own_entry(device), deadline);
  const auto sharing = sharing_ranks(entries);
  if (!sharing.empty() && !may_share) {
    wait_until_all_know(context, prefix);
    const Entry& first = entries[static_cast<std::size_t>(sharing.front().front())];
    throw UsageError(concat(names_of(context, sharing.front()), " have the same GPU (", first.versions.device,
                            " on host ", first.versions.host,
                            "): start one rank per GPU and let each use the GPU of its LOCAL_RANK, or pass "
                            "--share-gpu to test only that results are right"));
  }
  if (!sharing.empty()) prepare_sharing(context.rank);
  if (context.rank != 0) return !sharing.empty();
  std::vector<comm::Versions> versions;
  for (const Entry& entry : entries) versions.push_back(entry.versions);
  if (const auto differences = comm::describe_differences(versions); !differences.empty()) {
    context.log.warning(differences);
  }
  for (const std::vector<int>& ranks : sharing) {
    context.log.warning(concat(names_of(context, ranks), " share a GPU: results are right, times mean nothing"));
  }
  return !sharing.empty();
}

}  // namespace lockstep::nccl
