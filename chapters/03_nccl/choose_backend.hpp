#pragma once
/// @file
/// Chooses how ranks communicate: by our star, ring or shared memory, or by NCCL, Gloo or MPI.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/process_group.hpp"
#include "device/device.hpp"

namespace lockstep::backend {

/// Options of some backends; the defaults suit a rank with its own device.
struct BackendOptions {
  Device device{};         ///< For nccl's memory; the CPU means accelerator number local_rank.
  bool share_gpu = false;  ///< nccl: ranks of this host may share a GPU. For tests: it is slow.
};

/// A backend that this version supports.
struct BackendInfo {
  std::string_view name;     ///< On command lines: "star".
  std::string_view summary;  ///< One line for users.
  bool is_built;
  std::string_view how_to;  ///< Advice if it is not built.
};

/// auto, star, ring, shared_memory, nccl, gloo and mpi, in this order, built or not.
[[nodiscard]] const std::vector<BackendInfo>& all_backends();

/// Joins the job that `init_method` describes, as torch.distributed.init_process_group() does, and makes its group.
/// @param backend      One of all_backends(). "auto" is nccl if rank 0's device is a GPU; else shared_memory if all
///                     ranks run on one host, and ring if they do not. LOCKSTEP_TRANSPORT=tcp makes it ring,
///                     LOCKSTEP_TRANSPORT=shared_memory forbids the ring. Rank 0 decides for all ranks. Groups that
///                     split() makes of a ring between hosts choose again.
/// @param init_method  As comm::rendezvous() takes it: "env://", "tcp://host:port", "file:///path".
/// @throws UsageError        Unknown backend, or an unknown LOCKSTEP_TRANSPORT; lists the known ones.
/// @throws UnavailableError  This build or machine lacks it; says what to do.
/// @throws  Otherwise as comm::rendezvous() and the backend's own function.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> init_process_group(const std::string& backend = "auto",
                                                                     const std::string& init_method = "env://",
                                                                     const BackendOptions& options = {});

/// The same for a job already joined: a job may have several groups, of several backends.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_process_group(const std::string& backend,
                                                                     comm::JobContext context,
                                                                     const BackendOptions& options = {});

}  // namespace lockstep::backend
