#include "checkpoint/saver.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::checkpoint {
namespace {

bool is_on_device(const NamedTensor& named) { return !named.tensor.device().is_cpu(); }

// Makes `copies` hold host tensors like those of `tensors` that are on a device, in their order.
void make_room(const std::vector<NamedTensor>& tensors, std::vector<NamedTensor>& copies) {
  std::vector<NamedTensor> wanted;
  std::ranges::copy_if(tensors, std::back_inserter(wanted), is_on_device);
  const auto fits = [](const NamedTensor& a, const NamedTensor& b) {
    return a.name == b.name && a.tensor.shape() == b.tensor.shape() && a.tensor.dtype() == b.tensor.dtype();
  };
  if (std::ranges::equal(wanted, copies, fits)) return;
  copies.clear();
  for (const auto& [name, tensor] : wanted) copies.push_back({name, Tensor::empty(tensor.shape(), tensor.dtype())});
}

// `tensors`, with those on a device copied to the matching `copies`.
std::vector<NamedTensor> on_host(const std::vector<NamedTensor>& tensors, const std::vector<NamedTensor>& copies) {
  std::vector<NamedTensor> result;
  auto copy = copies.begin();
  for (const NamedTensor& named : tensors) {
    require(named.tensor.is_defined(), "saving tensor ", named.name, ": it is undefined");
    if (is_on_device(named)) copy->tensor.copy_from(named.tensor);
    result.push_back(is_on_device(named) ? *copy++ : named);
  }
  return result;
}

// The caller's options, extended so that an abandoned thread stops before its next step: by then another writer may use
// the folder.
FolderOptions stopping_when(const std::atomic<bool>& is_abandoned, const FolderOptions& options) {
  FolderOptions stopping = options;
  stopping.on_save_step = [&is_abandoned, announce = options.on_save_step](std::string_view step) {
    if (announce && !is_abandoned) announce(step);
    if (is_abandoned) throw Error("nobody waits for this checkpoint any more");
  };
  return stopping;
}

}  // namespace

Saver::Background::Background(const std::filesystem::path& root, const FolderOptions& options)
    : folder(root, stopping_when(is_abandoned, options)) {}

Saver::Saver(std::filesystem::path root, FolderOptions options, SaveMode mode, std::chrono::milliseconds longest_wait)
    : root_(std::move(root)),
      options_(std::move(options)),
      mode_(mode),
      longest_wait_(longest_wait),
      background_(std::make_shared<Background>(root_, options_)) {}

Saver::~Saver() {
  try {
    wait();
  } catch (const std::exception& error) {
    Logger().error(error.what());
  }
}

void Saver::prepare(const Contents& contents) {
  if (mode_ == SaveMode::kBlocking) return;
  wait();
  make_copies_fit(contents);
  if (background_->copies.model.empty() && background_->copies.optimizer.empty()) return;
  run_in_background([](Background& background) {  // the system allocates memory only when it is written to
    for (const auto* tensors : {&background.copies.model, &background.copies.optimizer})
      for (const auto& [name, tensor] : *tensors) tensor.fill_zero();
  });
}

void Saver::save(std::int64_t step, const Contents& contents, nlohmann::json state) {
  if (mode_ == SaveMode::kBlocking) {
    background_->folder.save(step, contents, state);
    return;
  }
  wait();
  step_ = step;
  const auto snapshot = std::make_shared<Snapshot>(take_snapshot(contents));
  is_saving_ = true;
  run_in_background([step, state = std::move(state), snapshot](Background& background) {
    Snapshot own = std::move(*snapshot);  // frees the locks when the work ends, even by an exception
    auto lock = own.locks.begin();
    background.folder.save(step, own.contents, state, [&lock](const NamedTensor& written) {
      if ((lock++)->release() == ReadLock::Outcome::kUnchanged) return;
      throw Error(concat(written.name, " has been changed before it was written: the disk took too long"));
    });
  });
}

void Saver::save(std::int64_t step, const StreamedContents& contents, const nlohmann::json& state) {
  wait();
  step_ = step;
  const auto begun = std::make_shared<BegunSave>(background_->folder.begin(step, contents, state));
  if (mode_ == SaveMode::kBlocking) {
    background_->folder.complete(std::move(*begun));
    return;
  }
  is_saving_ = true;
  run_in_background([begun](Background& background) { background.folder.complete(std::move(*begun)); });
}

Saver::Snapshot Saver::take_snapshot(const Contents& contents) {
  make_copies_fit(contents);
  const Contents& copies = background_->copies;
  Snapshot snapshot{
      {.model = on_host(contents.model, copies.model), .optimizer = on_host(contents.optimizer, copies.optimizer)}, {}};
  const auto until = std::chrono::steady_clock::now() + longest_wait_;
  for (const auto* tensors : {&snapshot.contents.model, &snapshot.contents.optimizer})
    for (const NamedTensor& named : *tensors) snapshot.locks.emplace_back(named.tensor.storage(), until);
  return snapshot;
}

void Saver::finish() {
  wait();
  background_->folder.tidy();
}

void Saver::run_in_background(std::function<void(Background&)> work) {
  std::packaged_task<void()> task([work = std::move(work), background = background_] { work(*background); });
  std::future<void> running = task.get_future();
  writer_ = std::thread(std::move(task));
  running_ = std::move(running);
}

void Saver::wait() {
  if (!running_.valid()) return;
  if (running_.wait_for(longest_wait_) == std::future_status::timeout) {
    is_saving_ = false;
    background_->is_abandoned = true;
    background_ = std::make_shared<Background>(root_, options_);
    running_ = {};
    writer_.detach();
    throw TimeoutError(concat("the checkpoint of step ", step_, ", saved in the background in ", root_.string(),
                              ", is not on disk after ", format_seconds(longest_wait_),
                              " of waiting; see whether the disk still answers"));
  }
  writer_.join();
  const bool was_saving = std::exchange(is_saving_, false);
  try {
    running_.get();
    // The checkpoints that were given up have been set aside. If the folder's writer is ever replaced, this run's own
    // stay.
    if (was_saving) options_.resumed_from.clear();
  } catch (const std::exception& error) {
    throw IoError(concat("the checkpoint of step ", step_, ", saved in the background, failed: ", error.what()));
  }
}

void Saver::make_copies_fit(const Contents& contents) {
  make_room(contents.model, background_->copies.model);
  make_room(contents.optimizer, background_->copies.optimizer);
}

}  // namespace lockstep::checkpoint
