#include "03_nccl/choose_backend.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "01_mini_all_reduce/star_process_group.hpp"
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
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

Backend backend_of(std::string_view name, std::string_view summary, std::string_view how_to, Factory make) {
  const bool is_built = static_cast<bool>(make);
  return {{name, summary, is_built, is_built ? "" : how_to}, std::move(make)};
}

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all{
      {{"star", "everything passes through rank 0 (chapter 01)", true, ""},
       [](comm::JobContext context, const BackendOptions&) {
         return star::make_star_process_group(std::move(context));
       }},
      {{"ring", "from neighbour to neighbour, by shared memory on one host (chapter 02)", true, ""},
       [](comm::JobContext context, const BackendOptions&) {
         return ring::make_ring_process_group(std::move(context));
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
