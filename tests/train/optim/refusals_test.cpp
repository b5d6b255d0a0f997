// Refusals of optimizers and of clipping.
#include <array>
#include <limits>
#include <vector>

#include "autograd/functions.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using autograd::Variable;

TEST_CASE("optimizers refuse a parameter that comes twice, and what is no parameter", "[optim]") {
  const Variable p = Variable::parameter(Tensor::zeros({2}), "p"), computed = autograd::add(p, p);
  const nn::ParameterGroup one{{{"encoder.p", p}}, 0}, other{{{"decoder.p", p}}, 0.1};
  CHECK_THROWS_WITH(optim::Sgd({one, other}), ContainsSubstring("parameter decoder.p comes twice"));
  CHECK_THROWS_WITH(optim::Sgd(std::vector<nn::ParameterGroup>{{{{"sum", computed}}, 0}}),
                    ContainsSubstring("sum is no parameter"));
  CHECK_THROWS_WITH(optim::Sgd(std::vector<nn::ParameterGroup>{{{{"none", Variable()}}, 0}}),
                    ContainsSubstring("none is no parameter"));
}

TEST_CASE("optimizers refuse rates and options that PyTorch's refuse", "[optim]") {
  const nn::Linear layer(2, 3, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  optim::Sgd optimizer(layer);
  for (const double rate : {-0.1, nan, infinity})
    CHECK_THROWS_WITH(optimizer.step(rate), ContainsSubstring("the learning rate is") && ContainsSubstring("step 0"));
  CHECK(optimizer.step_counts().steps == 0);
  CHECK_NOTHROW(optimizer.step(0));
  CHECK_THROWS_WITH(optim::Sgd(layer, {.momentum = -0.9}), ContainsSubstring("momentum is -0.9"));
  for (const double beta : {-0.1, 1.0, nan}) {
    CHECK_THROWS_WITH(optim::AdamW({nn::all_parameters(layer)}, {.beta1 = beta}), ContainsSubstring("betas"));
    CHECK_THROWS_WITH(optim::AdamW({nn::all_parameters(layer)}, {.beta2 = beta}), ContainsSubstring("betas"));
  }
  CHECK_THROWS_WITH(optim::Adam(layer, {.epsilon = -1e-8}), ContainsSubstring("epsilon"));
  nn::ParameterGroup group = nn::all_parameters(layer);
  group.weight_decay = -0.01;
  CHECK_THROWS_WITH(optim::Sgd({group}), ContainsSubstring("weight decay -0.01"));
  group = nn::all_parameters(layer);
  group.learning_rate_scale = -1;
  CHECK_THROWS_WITH(optim::Sgd({group}), ContainsSubstring("learning rate scale -1"));
}

TEST_CASE("step counts of two parameters of one name are refused if they could be mixed up", "[optim]") {
  const nn::Linear encoder(2, 2, 1), decoder(2, 2, 2);
  optim::AdamW optimizer({nn::all_parameters(encoder), nn::all_parameters(decoder)});
  for (const nn::Linear* layer : {&encoder, &decoder})
    for (const Variable& parameter : layer->parameters()) parameter.begin_gradient_write().first.fill_zero();
  optimizer.step(0.1);
  CHECK(optimizer.step_counts().fewer.empty());
  for (const Variable& parameter : encoder.parameters()) parameter.zero_grad();
  optimizer.step(0.1);
  CHECK_THROWS_WITH(optimizer.step_counts(), ContainsSubstring("two parameters are called bias"));
}

TEST_CASE("gradients are not clipped to a norm below 0", "[optim]") {
  const Variable p = Variable::parameter(Tensor::zeros({2}), "p");
  p.begin_gradient_write().first.copy_from(Tensor::from<float>(std::array{3.0F, 4.0F}, {2}));
  for (const double norm : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_WITH(optim::clip_grad_norm({p}, norm), ContainsSubstring("cannot be clipped"));
  CHECK(p.gradient().span<float>()[1] == 4.0F);
}
