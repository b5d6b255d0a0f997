#include "kernels/call.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/environment.hpp"
#include "device/copy.hpp"
#include "device/stream.hpp"
#include "kernels/algorithm_choices.hpp"
#include "kernels/checked_kernels.hpp"
#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels {

namespace cuda::plain {
const Operations& operations();
}

namespace {

const Operations& operations_of(Device device) {
  if (device.is_cpu()) return cpu::operations();
#ifdef LOCKSTEP_HAVE_CHECKED_DEVICE_OPS
  static const bool is_checked = environment::get("LOCKSTEP_EMULATOR_CHECK").value_or("0") != "0";
  if (is_checked) return checked_operations();
#endif
  return cuda::plain::operations();
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

  const std::int64_t* device_copy_of(std::span<const std::int64_t> ids) {
    const Device device = faults->device();
    const std::uint64_t stream = current_stream(device).id();
    if (!sample_ids || stream_of_ids != stream || !std::ranges::equal(last_sample_ids, ids)) {
      last_sample_ids.assign(ids.begin(), ids.end());
      sample_ids = Storage::allocate(ids.size_bytes(), device);
      stream_of_ids = stream;
      copy_memory({sample_ids->data(), device}, {last_sample_ids.data(), Device{}}, ids.size_bytes());
    }
    return reinterpret_cast<const std::int64_t*>(sample_ids->data());
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

void require_type(std::string_view operation, const Tensor& tensor, Types types) {
  if (types == Types::kAll) return;
  const DType dtype = tensor.dtype();
  const bool is_on_cpu = tensor.device().is_cpu();
  if (!is_on_cpu && dtype == DType::kFloat64) {
    throw ContractError(concat(operation, ": float64 is computed on the CPU only, not on ", tensor.device().name()));
  }
  require(!is_on_cpu || dtype != DType::kFloat16, operation, ": the CPU does not compute in float16; use bfloat16, ",
          "or a device (cuda, emulated)");
  require(
      dtype == DType::kFloat32 || dtype == DType::kFloat64 || (types == Types::kActivations && is_reduced_float(dtype)),
      operation, ": needs float32 or float64, not ", dtype);
}

void require_mask(std::string_view operation, const DropoutMask& mask, std::int64_t samples) {
  if (!mask.is_active()) return;
  require(mask.probability < 1.0F, operation, ": dropout probability ", mask.probability, " is not below 1");
  require(static_cast<std::int64_t>(mask.sample_ids.size()) == samples, operation, ": ", mask.sample_ids.size(),
          " sample ids for ", samples, " samples");
  require(mask.first_element >= 0, operation, ": a dropout mask that begins with element ", mask.first_element);
}

// How the elements of `tensor` map to the samples of an active mask.
DropoutRows dropout_rows(std::string_view operation, const DropoutMask& mask, const Tensor& tensor) {
  const std::int64_t count = tensor.count();
  if (mask.rows_per_sample == 0) {  // a sample is a row
    const std::int64_t samples = tensor.shape()[0];
    require_mask(operation, mask, samples);
    return {.rows = samples,
            .columns = samples == 0 ? 0 : count / samples,
            .first_row = 0,
            .rows_per_sample = 1,
            .first_element = mask.first_element};
  }
  const auto samples = static_cast<std::int64_t>(mask.sample_ids.size());
  require_mask(operation, mask, samples);
  const std::int64_t columns = tensor.shape()[-1], rows = columns == 0 ? 0 : count / columns;
  require(mask.rows_per_sample > 0 && mask.first_row >= 0 && mask.first_row + rows <= samples * mask.rows_per_sample,
          operation, ": a dropout mask for rows [", mask.first_row, ", ", mask.first_row + rows, ") of ", samples,
          " samples with ", mask.rows_per_sample, " rows each");
  return {.rows = rows,
          .columns = columns,
          .first_row = mask.first_row,
          .rows_per_sample = mask.rows_per_sample,
          .first_element = mask.first_element};
}

void throw_faults(const DeviceState& state, const DeviceFaults& faults) {
  state.forget_faults();
  if (faults.token != DeviceFaults::kNone) throw ContractError(describe("embedding: token", faults.token));
  throw ContractError(describe("cross entropy: target", faults.target));
}

}  // namespace

Array array_of(const Tensor& tensor) {
  if (!tensor.is_defined()) return {};
  return {tensor.data(), rows_of(tensor), columns_of(tensor), tensor.dtype()};
}

ConstArray const_array_of(const Tensor& tensor) {
  if (!tensor.is_defined()) return {};
  return {tensor.const_data(), rows_of(tensor), columns_of(tensor), tensor.dtype()};
}

Call::Call(std::string_view operation, const Tensor& first, Types types)
    : operation_(operation), device_(first.device()), operations_(&operations_of(device_)) {
  require(first.is_defined(), operation, ": a tensor is undefined");
  require_type(operation, first, types);
  if (is_on_cpu()) return;
  make_current(device_);
  algorithms_ = algorithm_chooser();
  context_ = {.stream = current_stream(device_).handle(),
              .device = device_.index,
              .scratch = this,
              .faults = reinterpret_cast<DeviceFaults*>(state_of(device_).faults->data()),
              .algorithms = algorithms_.get()};
}

void Call::require_same_device(const Tensor& first, const Tensor& other) const {
  if (!other.is_defined() || other.device() == first.device()) return;
  throw ContractError(concat(operation_, ": one tensor is on ", first.device().name(), ", another on ",
                             other.device().name(), "; Tensor::to() moves them"));
}

void Call::require_like(std::string_view what, const Tensor& tensor, const Tensor& like) const {
  require(tensor.is_defined() && tensor.dtype() == like.dtype() && tensor.count() == like.count(), operation_, ": ",
          what, " is ", tensor.dtype(), " ", tensor.shape(), " but must match ", like.dtype(), " ", like.shape());
}

void Call::require_count(std::string_view what, const Tensor& tensor, std::int64_t count, DType dtype) const {
  require(tensor.is_defined() && tensor.dtype() == dtype && tensor.count() == count, operation_, ": ", what, " is ",
          tensor.dtype(), " ", tensor.shape(), " but must hold ", count, " elements of ", dtype);
}

void* Call::take_bytes(std::size_t bytes) {
  scratch_.push_back(Storage::allocate(bytes, device_));
  return scratch_.back()->data();
}

Dropout Call::attention_dropout(const DropoutMask& mask, std::int64_t samples) const {
  require_mask(operation_, mask, samples);
  require(!mask.is_active() || mask.rows_per_sample == 0, operation_,
          ": a dropout mask with rows_per_sample; attention needs whole samples, and first_element for their heads");
  return mask.is_active() ? with_sample_ids(mask) : Dropout{};
}

Dropout Call::dropout(const DropoutMask& mask, const Tensor& tensor) const {
  if (!mask.is_active()) return {};
  const DropoutRows rows = dropout_rows(operation_, mask, tensor);
  Dropout dropout = with_sample_ids(mask);
  dropout.rows = rows;
  return dropout;
}

Dropout Call::with_sample_ids(const DropoutMask& mask) const {
  return {.probability = mask.probability,
          .key = mask.key,
          .sample_ids = is_on_cpu() ? mask.sample_ids.data() : state_of(device_).device_copy_of(mask.sample_ids),
          .samples = static_cast<std::int64_t>(mask.sample_ids.size()),
          .first_element = mask.first_element,
          .rows = {}};
}

VocabularyPart Call::part_of_vocabulary(const VocabularyPart& part, std::int64_t count) const {
  if (part.whole == 0 && part.first == 0) return {.first = 0, .whole = count};
  require(part.first >= 0 && part.first + count <= part.whole, operation_, ": tokens ", part.first, " to ",
          part.first + count, " of a vocabulary of ", part.whole);
  return part;
}

double* Call::results(std::size_t count) {
  result_count_ = count;
  results_ = take<double>(static_cast<std::int64_t>(count));
  return results_;
}

std::vector<double> Call::read_results() {
  if (is_on_cpu()) return {results_, results_ + result_count_};
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
