// The tape: recording operations, and walking them backwards.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "autograd/node.hpp"
#include "autograd/variable.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/text.hpp"
#include "kernels/elementwise.hpp"

namespace lockstep::autograd {
namespace {

using Node = Variable::Node;

// Per thread: ranks that are threads of one process record separately.
struct RecordingState {
  bool is_enabled = true;
  std::uint64_t last_sequence = 0;
  ParameterCollector* collector = nullptr;
};
thread_local RecordingState recording;

// The nodes that one backward() reaches. The destructor resets them, whether the walk ended or threw.
class Walk {
 public:
  Walk() = default;
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() {
    while (!operations_.empty()) release_last();
    for (const std::shared_ptr<Node>& parameter : parameters_) parameter->pending_uses = 0;
  }

  // Finds the nodes that the roots depend on and counts the uses of each. Throws if a parameter has been forgotten.
  void collect(std::span<const std::shared_ptr<Node>> roots) {
    for (const std::shared_ptr<Node>& root : roots) visit(root);
    for (std::size_t next = 0; next < operations_.size(); ++next) {  // visit() appends
      const std::shared_ptr<Node> node = operations_[next];
      for (const std::shared_ptr<Node>& input : node->inputs) visit(input);
    }
    std::sort(operations_.begin(), operations_.end(),
              [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
    require_all_listed();
  }

  void run() {
    while (!operations_.empty()) {
      Node& node = *operations_.back();
      if (node.has_gradient) node.backward(std::exchange(node.gradient, Tensor()));
      const std::vector<std::shared_ptr<Node>> inputs = std::move(node.inputs);
      release_last();
      for (const std::shared_ptr<Node>& input : inputs) count_contribution(input);
    }
    for (GradientObserver* observer : observers_) observer->on_backward_end();
  }

 private:
  // If only some parameters of a loss have been listed, a layer was forgotten. If none has, the caller only looks at
  // gradients.
  void require_all_listed() const {
    const auto find = [this](Node::Listing listing) {
      return std::ranges::find(parameters_, listing, [](const auto& parameter) { return parameter->listing; });
    };
    const auto forgotten = find(Node::Listing::kAwaited);
    if (forgotten == parameters_.end() || find(Node::Listing::kDone) == parameters_.end()) return;
    throw ContractError(concat(
        "autograd: the loss depends on parameter ", (*forgotten)->name, " ", (*forgotten)->shape,
        ", which is not in the list of parameters of the module that is trained, so that no optimizer would update it; "
        "make its layer with child<...>(name, ...), or use NoGradGuard if it should not be trained"));
  }

  void visit(const std::shared_ptr<Node>& node) {
    if (node->pending_uses++ > 0) return;
    if (node->is_parameter) {
      parameters_.push_back(node);
      require(!node->is_frozen, "autograd: parameter ", node->name, " was frozen between forward and backward");
      for (GradientObserver* observer : node->observers) {
        if (std::ranges::find(observers_, observer) == observers_.end()) observers_.push_back(observer);
      }
      return;
    }
    operations_.push_back(node);
    require(node->backward != nullptr,
            "autograd: backward() was called twice on one graph; it is freed by the first call");
  }

  static void count_contribution(const std::shared_ptr<Node>& input) {
    if (--input->pending_uses > 0 || !input->is_parameter) return;
    if (input->has_gradient && fault::take(fault::Kind::kNan)) kernels::scale(input->gradient, NAN);
    Variable parameter(Tensor(), input);
    for (std::size_t i = 0; i < input->observers.size(); ++i) input->observers[i]->on_gradient_ready(parameter);
  }

  // Frees the operation's captured values: its activations return to the allocator before the next operation runs.
  void release_last() {
    Node& node = *operations_.back();
    node.backward = nullptr;
    node.inputs.clear();
    node.gradient = Tensor();
    node.has_gradient = false;
    node.pending_uses = 0;
    operations_.pop_back();
  }

  std::vector<std::shared_ptr<Node>> operations_;  // in order of creation
  std::vector<std::shared_ptr<Node>> parameters_;
  std::vector<GradientObserver*> observers_;
};

// Every operation asks once, so a collector sees every parameter here.
bool is_recorded(std::span<const Variable> inputs) {
  if (recording.collector != nullptr) recording.collector->note(inputs);
  return recording.is_enabled &&
         std::any_of(inputs.begin(), inputs.end(), [](const Variable& input) { return input.requires_grad(); });
}

}  // namespace

// If each node freed its inputs, a graph that backward() has not walked would be freed by as many nested calls as it is
// deep.
Variable::Node::~Node() {
  std::vector<std::shared_ptr<Node>> left = std::move(inputs);  // held while functions that refer to them go
  backward = nullptr;
  while (!left.empty()) {
    const std::shared_ptr<Node> node = std::move(left.back());
    left.pop_back();
    if (node.use_count() > 1) continue;
    std::ranges::move(node->inputs, std::back_inserter(left));
    node->inputs.clear();
    node->backward = nullptr;
  }
}

Variable record(Tensor value, std::initializer_list<Variable> inputs, BackwardFunction backward) {
  return record(std::move(value), std::span(inputs.begin(), inputs.size()), std::move(backward));
}

Variable record(Tensor value, std::span<const Variable> inputs, BackwardFunction backward) {
  if (!is_recorded(inputs)) return Variable(std::move(value));
  auto node = std::make_shared<Node>();
  node->shape = value.shape();
  node->dtype = value.dtype();
  node->device = value.device();
  node->backward = std::move(backward);
  std::uint64_t sequence = recording.last_sequence;
  for (const Variable& input : inputs) {
    if (!input.requires_grad()) continue;
    node->inputs.push_back(input.node());
    sequence = std::max(sequence, input.node()->sequence);  // larger than this thread's if another one recorded it
  }
  node->sequence = recording.last_sequence = sequence + 1;
  return {std::move(value), std::move(node)};
}

bool will_record(std::initializer_list<Variable> inputs) {
  return is_recorded(std::span(inputs.begin(), inputs.size()));
}

bool is_exclusive(const Tensor& tensor) noexcept { return tensor.storage().use_count() == 1; }

Tensor reuse_or_allocate(const Tensor& tensor) {
  return is_exclusive(tensor) ? tensor : Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device());
}

void backward_from(std::vector<GradientStart> starts) {
  std::vector<std::shared_ptr<Node>> roots;
  for (const GradientStart& start : starts) {
    require(start.output.requires_grad(), "autograd: a gradient of shape ", start.gradient.shape(),
            " for a variable that depends on no parameter, or was computed while gradients were off");
    roots.push_back(start.output.node());
  }
  Walk walk;
  walk.collect(roots);
  for (GradientStart& start : starts) start.output.accumulate_gradient(std::move(start.gradient));
  starts.clear();
  walk.run();
}

ParameterCollector::ParameterCollector() noexcept : outer_(std::exchange(recording.collector, this)) {}
ParameterCollector::~ParameterCollector() { recording.collector = outer_; }

void ParameterCollector::note(std::span<const Variable> inputs) {
  if (outer_ != nullptr) outer_->note(inputs);
  for (const Variable& input : inputs) {
    const bool is_new = std::none_of(parameters_.begin(), parameters_.end(),
                                     [&](const Variable& other) { return other.is_same(input); });
    if (input.requires_grad() && input.node()->is_parameter && is_new) parameters_.push_back(input);
  }
}

EnableGradGuard::EnableGradGuard() noexcept : was_enabled_(std::exchange(recording.is_enabled, true)) {}
EnableGradGuard::~EnableGradGuard() { recording.is_enabled = was_enabled_; }

NoGradGuard::NoGradGuard() noexcept : was_enabled_(std::exchange(recording.is_enabled, false)) {}
NoGradGuard::~NoGradGuard() { recording.is_enabled = was_enabled_; }
bool is_grad_enabled() noexcept { return recording.is_enabled; }

}  // namespace lockstep::autograd
