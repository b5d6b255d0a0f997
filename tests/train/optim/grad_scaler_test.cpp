// The gradient scaler against PyTorch's rules, written down once more in their shortest form, and against gradients
// that were never scaled.
#include "optim/grad_scaler.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using autograd::Variable;
using optim::GradScaler;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor tensor_of(const std::vector<float>& values) {
  return Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())});
}

std::vector<float> list_of(const Tensor& tensor) { return {tensor.span<float>().begin(), tensor.span<float>().end()}; }

// One parameter that is pulled towards a target, which decides its gradient: 2 (value - target) / 3.
struct Problem {
  Variable parameter = Variable::parameter(tensor_of({1.0F, -2.0F, 0.5F}), "p");
  optim::Sgd optimizer{{nn::ParameterGroup{.parameters = {{"p", parameter}}}}, {}};

  [[nodiscard]] Variable loss(float target = 3) const {
    return autograd::mse_loss(parameter, tensor_of({target, 0.25F, -1.5F}));
  }
};

// torch's _amp_update_scale_, for steps of which it is known whether they met an infinity.
struct Oracle {
  double scale = 1024;
  int good_steps = 0;
  void update(bool found_inf) {
    if (found_inf) {
      scale = scale * 0.25;
      good_steps = 0;
    } else if (good_steps + 1 == 3) {
      scale = scale * 4;
      good_steps = 0;
    } else {
      good_steps = good_steps + 1;
    }
  }
};

const optim::GradScalerOptions kQuick{
    .init_scale = 1024, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 3};

}  // namespace

TEST_CASE("the scale takes the course of torch's rules, and exactly the steps without infinities are taken",
          "[optim][scaler]") {
  Problem problem;
  GradScaler scaler(kQuick);
  Oracle oracle;
  PhiloxSequence random(7);
  std::int64_t taken = 0, skipped = 0;
  for (int step = 0; step < 200; ++step) {
    const bool is_bad = random.next_below(4) == 0;
    problem.optimizer.zero_grad();
    scaler.scale(problem.loss()).backward();
    const float bad = random.next_below(2) == 0 ? kInfinity : std::nanf("");
    if (is_bad) problem.parameter.gradient().span<float>()[1] = bad;
    const std::vector<float> before = list_of(problem.parameter.value());
    REQUIRE(scaler.step(problem.optimizer, 1e-3) == !is_bad);
    CHECK((list_of(problem.parameter.value()) == before) == is_bad);
    scaler.update();
    oracle.update(is_bad);
    (is_bad ? skipped : taken) += 1;
    REQUIRE(scaler.get_scale() == oracle.scale);
  }
  CHECK(problem.optimizer.step_counts().steps == taken);  // a skipped step does not count for Adam's corrections
  CHECK(skipped > 20);
}

TEST_CASE("unscaled gradients are those of a loss that was never scaled, bit for bit where the scale is a power of 2",
          "[optim][scaler]") {
  Problem plain, scaled;
  plain.loss().backward();
  GradScaler scaler;
  REQUIRE(scaler.get_scale() == 65536);
  const Variable loss = scaler.scale(scaled.loss());
  CHECK(loss.value().item() == 65536 * plain.loss().value().item());
  loss.backward();
  CHECK(scaled.parameter.gradient().span<float>()[0] == 65536 * plain.parameter.gradient().span<float>()[0]);
  scaler.unscale(scaled.optimizer);
  CHECK(scaler.is_unscaled(scaled.optimizer));
  CHECK(list_of(scaled.parameter.gradient()) == list_of(plain.parameter.gradient()));
}

TEST_CASE("accumulating and clipping between unscale and step come to what they do without a scaler",
          "[optim][scaler]") {
  Problem plain, scaled;
  GradScaler scaler;
  for (const float target : {3.0F, -1.0F}) {
    plain.loss(target).backward(0.5);
    scaler.scale(scaled.loss(target)).backward(0.5);
  }
  scaler.unscale(scaled.optimizer);
  const double norm = optim::clip_grad_norm({scaled.parameter}, 0.1);
  CHECK(norm == optim::clip_grad_norm({plain.parameter}, 0.1));
  CHECK(norm > 0.1);
  plain.optimizer.step(0.5);
  CHECK(scaler.step(scaled.optimizer, 0.5));  // does not divide a second time
  scaler.update();
  CHECK(list_of(scaled.parameter.value()) == list_of(plain.parameter.value()));
}

TEST_CASE("an infinity in one optimizer's gradients leaves the other's step alone, and the scale falls once",
          "[optim][scaler]") {
  Problem good, bad;
  GradScaler scaler(kQuick);
  scaler.scale(good.loss()).backward();
  scaler.scale(bad.loss()).backward();
  bad.parameter.gradient().span<float>()[2] = -kInfinity;
  CHECK(scaler.step(good.optimizer, 0.1));
  CHECK_FALSE(scaler.step(bad.optimizer, 0.1));
  scaler.update();
  CHECK(scaler.get_scale() == 256);
}

TEST_CASE("what another rank has found makes this one skip, too", "[optim][scaler]") {
  Problem problem;
  std::vector<bool> asked;
  optim::GradScalerOptions options = kQuick;
  options.any_rank = [&](bool here) {
    asked.push_back(here);
    return true;
  };
  GradScaler scaler(options);
  scaler.scale(problem.loss()).backward();
  CHECK_FALSE(scaler.step(problem.optimizer, 0.1));
  scaler.update();
  CHECK(asked == std::vector<bool>{false});
  CHECK(scaler.get_scale() == 256);
}

TEST_CASE("a scale that would no longer be a float32 stays", "[optim][scaler]") {
  Problem problem;
  GradScaler scaler({.init_scale = 0x1p127, .growth_interval = 1});
  (void)scaler.scale(problem.loss());
  problem.loss().backward();
  CHECK(scaler.step(problem.optimizer, 0.1));
  scaler.update();
  CHECK(scaler.get_scale() == 0x1p127);
}

TEST_CASE("calls in a wrong order are refused", "[optim][scaler]") {
  Problem problem;
  GradScaler scaler;
  problem.loss().backward();
  CHECK_THROWS_WITH(scaler.step(problem.optimizer, 0.1), ContainsSubstring("step() before any scale()"));
  CHECK_THROWS_WITH(scaler.unscale(problem.optimizer), ContainsSubstring("unscale() before any scale()"));
  CHECK_THROWS_WITH(scaler.update(), ContainsSubstring("update() before any scale()"));
  scaler.scale(problem.loss()).backward();
  CHECK_THROWS_WITH(scaler.update(), ContainsSubstring("without a step()"));
  scaler.unscale(problem.optimizer);
  CHECK_THROWS_WITH(scaler.unscale(problem.optimizer), ContainsSubstring("unscaled already"));
  CHECK(scaler.step(problem.optimizer, 0.1));
  CHECK_THROWS_WITH(scaler.step(problem.optimizer, 0.1), ContainsSubstring("step() a second time"));
  CHECK_THROWS_WITH(scaler.unscale(problem.optimizer), ContainsSubstring("unscale() after step()"));
  scaler.update();
  problem.optimizer.zero_grad();
  CHECK_THROWS_WITH(scaler.step(problem.optimizer, 0.1), ContainsSubstring("none of whose parameters has a gradient"));
}

TEST_CASE("a parameter without a gradient is left out", "[optim][scaler]") {
  Problem problem;
  const Variable unused = Variable::parameter(tensor_of({4}), "unused");
  optim::Adam optimizer({nn::ParameterGroup{.parameters = {{"p", problem.parameter}, {"unused", unused}}}});
  GradScaler scaler;
  scaler.scale(problem.loss()).backward();
  CHECK(scaler.step(optimizer, 0.1));
  CHECK(unused.value().item() == 4);
  CHECK_FALSE(unused.has_gradient());
}

TEST_CASE("a scaler that is not enabled changes nothing", "[optim][scaler]") {
  Problem problem;
  GradScaler scaler({.enabled = false});
  CHECK(scaler.get_scale() == 1);
  scaler.scale(problem.loss()).backward();
  scaler.unscale(problem.optimizer);
  CHECK(scaler.step(problem.optimizer, 0.1));
  scaler.update();
  CHECK(scaler.state_dict().empty());
  CHECK_FALSE(scaler.is_enabled());
}

TEST_CASE("a scaler continues from its saved state, and refuses what is none", "[optim][scaler]") {
  Problem problem;
  GradScaler scaler(kQuick);
  const auto take_step = [&](GradScaler& by) {
    problem.optimizer.zero_grad();
    by.scale(problem.loss()).backward();
    by.step(problem.optimizer, 1e-3);
    by.update();
  };
  take_step(scaler);
  take_step(scaler);
  const nlohmann::json state = scaler.state_dict();
  CHECK(state == nlohmann::json::parse(R"({"scale": 1024.0, "growth_factor": 4.0, "backoff_factor": 0.25,
                                           "growth_interval": 3, "_growth_tracker": 2})"));
  GradScaler other;
  other.load_state_dict(state);
  take_step(other);
  CHECK(other.get_scale() == 4096);  // the third good step

  for (const char* const change : {R"({"scale": 0})", R"({"scale": "x"})", R"({"growth_interval": 0})",
                                   R"({"growth_interval": 1.5})", R"({"_growth_tracker": -1})", R"({"scale": null})"}) {
    nlohmann::json broken = state;
    broken.merge_patch(nlohmann::json::parse(change));
    CHECK_THROWS_AS(other.load_state_dict(broken), FormatError);
  }
  CHECK_THROWS_WITH(other.load_state_dict(nlohmann::json::object()), ContainsSubstring("not enabled"));
  CHECK(other.get_scale() == 4096);
}

TEST_CASE("options out of range are refused", "[optim][scaler]") {
  CHECK_THROWS_AS(GradScaler({.init_scale = 0}), ContractError);
  CHECK_THROWS_AS(GradScaler({.growth_factor = 1}), ContractError);
  CHECK_THROWS_AS(GradScaler({.backoff_factor = 1}), ContractError);
  CHECK_THROWS_AS(GradScaler({.growth_interval = 0}), ContractError);
}
