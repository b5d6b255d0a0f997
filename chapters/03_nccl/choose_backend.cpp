#include "03_nccl/choose_backend.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "01_mini_all_reduce/star_process_group.hpp"
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/rendezvous.hpp"
#include "store/store.hpp"
#ifdef LOCKSTEP_HAVE_NCCL
#include "03_nccl/nccl_process_group.hpp"
#endif
#ifdef LOCKSTEP_HAVE_GLOO
#include "comm_gloo/gloo_process_group.hpp"
#endif
#ifdef LOCKSTEP_HAVE_MPI
#include "comm_mpi/mpi_process_group.hpp"
#endif

namespace lockstep::backend {
namespace {

using Factory = std::function<std::unique_ptr<comm::ProcessGroup>(comm::JobContext, const BackendOptions&)>;

struct Backend {
  BackendInfo info;
  Factory make;  // empty: not built
};

// nccl if rank 0's device is a GPU; else shared_memory if all ranks run on one host, and ring if they do not. Rank 0's
// device and environment count for all ranks.
std::unique_ptr<comm::ProcessGroup> make_auto(comm::JobContext job, const BackendOptions& options);

// Rank 0's choice: the name of a backend, or this if the hosts decide.
constexpr const char* kByHosts = "by hosts";

std::string own_choice(const BackendOptions& options) {
  if (options.device.type == DeviceType::kCuda) return "nccl";
  const std::string wish = environment::get("LOCKSTEP_TRANSPORT").value_or("auto");
  if (wish == "auto") return kByHosts;
  if (wish == "tcp") return "ring";
  if (wish == "shared_memory") return wish;
  throw UsageError(concat("LOCKSTEP_TRANSPORT=", wish, " is unknown; use auto, tcp or shared_memory"));
}

std::string choice_of_rank_0(const comm::JobContext& job, const std::string& own) {
  const std::string key = concat("generation/", job.generation, "/auto/", *job.group_id, "/backend");
  if (job.rank == 0) {
    job.store->set(key, own);
    return own;
  }
  const std::string task = concat("rank ", job.global_rank(job.rank), ": waiting for the backend that rank ",
                                  job.global_rank(0), " chooses");
  return comm::get_or_fail(job, key, task, Deadline::after(job.limits.join));
}

// A ring between hosts; a part of it within one host uses shared memory.
class RingBetweenHosts final : public ring::RingProcessGroup {
 public:
  RingBetweenHosts(comm::JobContext job, const BackendOptions& options)
      : RingProcessGroup(std::move(job)), backend_options_(options) {}
  ~RingBetweenHosts() override { shutdown(); }

 private:
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override {
    return make_auto(std::move(context), backend_options_);
  }

  BackendOptions backend_options_;
};

std::unique_ptr<comm::ProcessGroup> make_auto(comm::JobContext job, const BackendOptions& options) {
  const std::string own = own_choice(options);  // on all ranks: a wrong variable is the error of each of them
  if (job.world_size == 1) return make_process_group(own == "nccl" ? "nccl" : "ring", job, options);
  if (!job.group_id) job.group_id = job.control->next_group_id();
  const std::string choice = choice_of_rank_0(job, own);
  if (choice == "shared_memory") return ring::make_shared_memory_process_group(std::move(job));
  if (choice != kByHosts) return make_process_group(choice, std::move(job), options);
  const auto deadline = Deadline::after(job.limits.join);
  comm::SharedMemoryResult found = comm::make_shared_memory(job, concat("shared_memory/", *job.group_id), deadline);
  if (!found.memory) return std::make_unique<RingBetweenHosts>(std::move(job), options);
  return std::make_unique<ring::SharedMemoryProcessGroup>(std::move(job), std::move(found.memory));
}

Factory nccl_factory() {
#ifdef LOCKSTEP_HAVE_NCCL
  return [](comm::JobContext context, const BackendOptions& options) {
    return nccl::make_nccl_process_group(std::move(context),
                                         {.device = options.device, .share_gpu = options.share_gpu});
  };
#else
  return {};
#endif
}

Factory gloo_factory() {
#ifdef LOCKSTEP_HAVE_GLOO
  return [](comm::JobContext context, const BackendOptions&) {
    return gloo_backend::make_gloo_process_group(std::move(context));
  };
#else
  return {};
#endif
}

Factory mpi_factory() {
#ifdef LOCKSTEP_HAVE_MPI
  return [](comm::JobContext context, const BackendOptions&) {
    return mpi_backend::make_mpi_process_group(std::move(context));
  };
#else
  return {};
#endif
}

void require_shared_memory_is_wanted() {
  if (environment::get("LOCKSTEP_TRANSPORT").value_or("") != "tcp") return;
  throw UsageError(
      "LOCKSTEP_TRANSPORT=tcp turns shared memory off, and the backend is shared_memory: leave one of the "
      "two out");
}

Backend backend_of(std::string_view name, std::string_view summary, std::string_view how_to, Factory make) {
  const bool is_built = static_cast<bool>(make);
  return {{name, summary, is_built, is_built ? "" : how_to}, std::move(make)};
}

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all{
      {{"auto", "nccl on GPUs, else shared_memory on one host and ring on several", true, ""}, make_auto},
      {{"star", "everything passes through rank 0 (chapter 01)", true, ""},
       [](comm::JobContext context, const BackendOptions&) {
         return star::make_star_process_group(std::move(context));
       }},
      {{"ring", "from neighbour to neighbour over TCP (chapter 02)", true, ""},
       [](comm::JobContext context, const BackendOptions&) {
         return ring::make_ring_process_group(std::move(context));
       }},
      {{"shared_memory", "through memory that the ranks of one host share (chapter 02)", true, ""},
       [](comm::JobContext context, const BackendOptions&) {
         require_shared_memory_is_wanted();
         return ring::make_shared_memory_process_group(std::move(context));
       }},
      backend_of("nccl", "NVIDIA's library on GPUs, or the emulator's (chapter 03)",
                 "install NCCL (or set NCCL_ROOT) and configure again", nccl_factory()),
      backend_of("gloo", "Meta's library for CPUs", "apt-get install libgloo-dev and configure again", gloo_factory()),
      backend_of("mpi", "an MPI library; mpirun must start the ranks",
                 "apt-get install libopenmpi-dev openmpi-bin and configure again", mpi_factory()),
  };
  return all;
}

std::string names_of_all() {
  std::string names;
  for (const Backend& each : backends()) names += concat(names.empty() ? "" : ", ", each.info.name);
  return names;
}

}  // namespace

const std::vector<BackendInfo>& all_backends() {
  static const std::vector<BackendInfo> infos = [] {
    std::vector<BackendInfo> all;
    std::ranges::transform(backends(), std::back_inserter(all), &Backend::info);
    return all;
  }();
  return infos;
}

std::unique_ptr<comm::ProcessGroup> make_process_group(const std::string& backend, comm::JobContext context,
                                                       const BackendOptions& options) {
  const auto found = std::ranges::find(backends(), backend, [](const Backend& each) { return each.info.name; });
  if (found == backends().end()) {
    throw UsageError(concat("there is no backend '", backend, "'; the backends are ", names_of_all()));
  }
  if (!found->make) throw UnavailableError(concat("this build has no backend ", backend, ": ", found->info.how_to));
  return found->make(std::move(context), options);
}

std::unique_ptr<comm::ProcessGroup> init_process_group(const std::string& backend, const std::string& init_method,
                                                       const BackendOptions& options) {
  return make_process_group(backend, comm::rendezvous(init_method), options);
}

}  // namespace lockstep::backend
