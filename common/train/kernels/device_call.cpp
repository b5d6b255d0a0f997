#include "kernels/device_call.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/environment.hpp"
#include "device/copy.hpp"
#include "device/stream.hpp"

namespace lockstep::kernels {

#ifdef LOCKSTEP_HAVE_DEVICE_OPS
namespace cuda::plain {
const DeviceOps& device_ops();
}
#endif
#ifdef LOCKSTEP_HAVE_CHECKED_DEVICE_OPS
namespace cuda::checked {
const DeviceOps& device_ops();
}
#endif

namespace {

const DeviceOps& ops_of([[maybe_unused]] Device device) {
#ifdef LOCKSTEP_HAVE_CHECKED_DEVICE_OPS
  static const bool is_checked = environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0";
  if (is_checked) return cuda::checked::device_ops();
#endif
#ifdef LOCKSTEP_HAVE_DEVICE_OPS
  return cuda::plain::device_ops();
#else
  throw UnavailableError(concat("this build has no kernels for ", device.name(), "; use --device cpu"));
#endif
}

constexpr DeviceFaults kNoFaults{DeviceFaults::kNone, DeviceFaults::kNone};

// A thread's state on a device between operations.
struct DeviceState {
  std::shared_ptr<Storage> faults;      // DeviceFaults
  std::shared_ptr<Storage> sample_ids;  // of the last mask: all dropouts of a step share them
  std::vector<std::int64_t> last_sample_ids;
  std::uint64_t stream_of_ids = Stream::kDefaultId;

  explicit DeviceState(Device device) : faults(Storage::allocate(sizeof(DeviceFaults), device)) { forget_faults(); }

  void forget_faults() const {
    DeviceFaults none = kNoFaults;
    copy_memory({faults->data(), faults->device()}, {&none, Device{}}, sizeof(none));
    current_stream(faults->device()).synchronize();  // so that they are written, whichever stream is current next
  }
};

DeviceState& state_of(Device device) {
  thread_local std::map<int, DeviceState> states;
  return states.try_emplace(device.index, device).first->second;
}

std::string describe(std::string_view what, std::uint64_t fault) {
  return concat(what, " ", static_cast<std::int32_t>(fault & 0xFFFFFFFFU), " at ", fault >> 32,
                " is not in the vocabulary");
}

void throw_faults(const DeviceState& state, const DeviceFaults& faults) {
  state.forget_faults();
  if (faults.token != DeviceFaults::kNone) throw ContractError(describe("embedding: token", faults.token));
  throw ContractError(describe("cross entropy: target", faults.target));
}

}  // namespace

void throw_device_mismatch(std::string_view operation, const Tensor& first, const Tensor& other) {
  throw ContractError(concat(operation, ": one tensor is on ", first.device().name(), ", another on ",
                             other.device().name(), "; Tensor::to() moves them"));
}

DeviceArray array_of(const Tensor& tensor) {
  if (!tensor.is_defined()) return {};
  return {tensor.data(), rows_of(tensor), columns_of(tensor), tensor.dtype()};
}

DeviceArray array_to_read(const Tensor& tensor) {
  if (!tensor.is_defined()) return {};
  return {const_cast<void*>(tensor.const_data()), rows_of(tensor), columns_of(tensor), tensor.dtype()};
}

DeviceCall::DeviceCall(std::string_view operation, const Tensor& tensor)
    : operation_(operation), device_(tensor.device()), ops_(&ops_of(device_)) {
  require(tensor.dtype() != DType::kFloat64, operation, ": float64 is computed on the CPU only, not on ",
          device_.name());
  make_current(device_);
  context_ = {.stream = current_stream(device_).handle(),
              .device = device_.index,
              .scratch = this,
              .faults = reinterpret_cast<DeviceFaults*>(state_of(device_).faults->data())};
}

void* DeviceCall::take_bytes(std::size_t bytes) {
  scratch_.push_back(Storage::allocate(bytes, device_));
  return scratch_.back()->data();
}

DeviceDropout DeviceCall::attention_dropout(const DropoutMask& mask, std::int64_t samples) {
  require_attention_mask(operation_, mask, samples);
  return mask.is_active() ? with_sample_ids(mask) : DeviceDropout{};
}

DeviceDropout DeviceCall::dropout(const DropoutMask& mask, const Tensor& tensor) {
  if (!mask.is_active()) return {};
  const DropoutRows rows = dropout_rows(operation_, mask, tensor);
  DeviceDropout dropout = with_sample_ids(mask);
  dropout.rows = rows;
  return dropout;
}

DeviceDropout DeviceCall::with_sample_ids(const DropoutMask& mask) {
  DeviceState& state = state_of(device_);
  const std::uint64_t stream = current_stream(device_).id();
  const bool is_there =
      state.sample_ids && state.stream_of_ids == stream && std::ranges::equal(state.last_sample_ids, mask.sample_ids);
  if (!is_there) {
    state.last_sample_ids.assign(mask.sample_ids.begin(), mask.sample_ids.end());
    state.sample_ids = Storage::allocate(mask.sample_ids.size_bytes(), device_);
    state.stream_of_ids = stream;
    copy_memory({state.sample_ids->data(), device_}, {state.last_sample_ids.data(), Device{}},
                mask.sample_ids.size_bytes());
  }
  return {.probability = mask.probability,
          .key = mask.key,
          .sample_ids = reinterpret_cast<const std::int64_t*>(state.sample_ids->data()),
          .samples = static_cast<std::int64_t>(mask.sample_ids.size()),
          .first_element = mask.first_element,
          .rows = {}};
}

double* DeviceCall::results(std::size_t count) {
  result_count_ = count;
  results_ = take<double>(static_cast<std::int64_t>(count));
  return results_;
}

std::vector<double> DeviceCall::read_results() {
  const std::size_t bytes = result_count_ * sizeof(double);
  const auto arrived = Storage::allocate_pinned(bytes + sizeof(DeviceFaults), device_);
  const Stream& stream = current_stream(device_);
  copy_memory_async(arrived->data(), results_, bytes, stream);
  copy_memory_async(arrived->data() + bytes, context_.faults, sizeof(DeviceFaults), stream);
  stream.synchronize();
  std::vector<double> values(result_count_);
  DeviceFaults faults{};
  if (bytes > 0) std::memcpy(values.data(), arrived->data(), bytes);
  std::memcpy(&faults, arrived->data() + bytes, sizeof(faults));
  if (faults.token != DeviceFaults::kNone || faults.target != DeviceFaults::kNone) {
    throw_faults(state_of(device_), faults);
  }
  return values;
}

}  // namespace lockstep::kernels
