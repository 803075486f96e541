#include "engine/kernels/optimizer_step.h"

#include <ATen/Parallel.h>

#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::for_each_isa;
using testing::kPrecisions;
using testing::relative_error;
using testing::Tensors;

/// torch.optim.AdamW's update written out in float64, over the tensors' own dtypes.
void plain_adamw(AdamwTensors& t, const AdamwScalars& s, double gradient_scale) {
  const at::Tensor g = t.gradient.to(at::kDouble) * gradient_scale;
  at::Tensor p = t.parameter.to(at::kDouble) * (t.decay ? 1.0 - s.learning_rate * s.weight_decay : 1.0);
  const at::Tensor m = t.first_moment.to(at::kDouble) * s.beta1 + g * (1.0 - s.beta1);
  const at::Tensor v = t.second_moment.to(at::kDouble) * s.beta2 + g * g * (1.0 - s.beta2);
  const double step = static_cast<double>(s.step);
  const at::Tensor m_hat = m / (1.0 - std::pow(s.beta1, step));
  const at::Tensor v_hat = v / (1.0 - std::pow(s.beta2, step));
  p = p - s.learning_rate * m_hat / (v_hat.sqrt() + s.eps);
  t.parameter.copy_(p);
  t.first_moment.copy_(m);
  t.second_moment.copy_(v);
  if (t.copy.defined()) {
    t.copy.copy_(p);
  }
}

/// Dtypes of an update; no copy where it is Undefined.
struct Dtypes {
  at::ScalarType parameter;
  at::ScalarType gradient;
  at::ScalarType states;
  at::ScalarType copy = at::ScalarType::Undefined;
};

/// All that have kernels of their own, and at the end some that have not.
std::vector<Dtypes> all_dtypes() {
  std::vector<Dtypes> all;
  for (const auto& [dtype, tolerance] : kPrecisions) {
    all.push_back({dtype, dtype, dtype});
    all.push_back({dtype, dtype, at::kFloat});
    all.push_back({dtype, at::kFloat, dtype});
    all.push_back({at::kFloat, dtype, at::kFloat});
    all.push_back({at::kFloat, dtype, at::kFloat, dtype});
    all.push_back({at::kFloat, at::kFloat, at::kFloat, dtype});
  }
  all.push_back({at::kFloat, at::kBFloat16, at::kFloat, at::kHalf});
  all.push_back({at::kHalf, at::kBFloat16, at::kHalf});
  all.push_back({at::kDouble, at::kDouble, at::kDouble});
  return all;
}

double tolerance_of(const Dtypes& d) {
  double tolerance = 0.0;
  for (const auto& [dtype, of_dtype] : kPrecisions) {
    for (const auto used : {d.parameter, d.states, d.copy}) {
      tolerance = std::max(tolerance, dtype == used || used == at::kDouble ? of_dtype : 0.0);
    }
  }
  return tolerance;
}

/// `count` elements that begin `offset` elements into their memory; the moments are 0.
AdamwTensors make_tensors(int64_t count, const Dtypes& d, int64_t offset = 0) {
  at::manual_seed(static_cast<uint64_t>(count));
  const auto flat = [&](const at::Tensor& values) { return values.narrow(0, offset, count); };
  AdamwTensors t{flat(at::randn({count + offset}).to(d.parameter)), flat(at::randn({count + offset}).to(d.gradient)),
                 flat(at::zeros({count + offset}, d.states)), flat(at::zeros({count + offset}, d.states))};
  if (d.copy != at::ScalarType::Undefined) {
    t.copy = flat(at::zeros({count + offset}, d.copy));
  }
  return t;
}

AdamwTensors make_tensors(int64_t count, at::ScalarType dtype, at::ScalarType states) {
  return make_tensors(count, {dtype, dtype, states});
}

Tensors all_of(const AdamwTensors& t) {
  Tensors all = {t.parameter, t.first_moment, t.second_moment};
  if (t.copy.defined()) {
    all.push_back(t.copy);
  }
  return all;
}

AdamwTensors copy_of(const AdamwTensors& t) {
  return {t.parameter.clone(),
          t.gradient.clone(),
          t.first_moment.clone(),
          t.second_moment.clone(),
          t.decay,
          t.copy.defined() ? t.copy.clone() : at::Tensor()};
}

void expect_near(const AdamwTensors& got, const AdamwTensors& want, double tolerance) {
  for (size_t i = 0; i < all_of(want).size(); ++i) {
    EXPECT_LT(relative_error(all_of(got)[i], all_of(want)[i]), tolerance) << "tensor " << i;
  }
}

void expect_equal(const AdamwTensors& got, const AdamwTensors& want) {
  for (size_t i = 0; i < all_of(want).size(); ++i) {
    EXPECT_TRUE(all_of(got)[i].equal(all_of(want)[i])) << "tensor " << i;
  }
}

TEST(Adamw, FollowsItsFormulaOverSteps) {
  for_each_isa([] {
    for (const Dtypes& dtypes : all_dtypes()) {
      for (const auto& [count, offset] :
           std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {31, 0}, {31, 1}, {5000, 3}}) {
        AdamwTensors ours = make_tensors(count, dtypes, offset);
        ours.decay = count != 31;
        AdamwTensors want = copy_of(ours);
        for (int64_t step = 1; step <= 3; ++step) {
          const AdamwScalars scalars{.learning_rate = 0.01, .weight_decay = 0.1, .step = step};
          adamw_step({ours}, scalars, {.scale = 0.7});
          plain_adamw(want, scalars, 0.7);
        }
        expect_near(ours, want, tolerance_of(dtypes));
      }
    }
  });
}

TEST(Adamw, TheFirstStepDoesNotReadTheMoments) {
  for_each_isa([] {
    for (const Dtypes& dtypes : all_dtypes()) {
      const AdamwTensors zero = make_tensors(5000, dtypes);
      const AdamwTensors fresh = copy_of(zero);
      fresh.first_moment.fill_(NAN);
      fresh.second_moment.fill_(NAN);
      adamw_step({zero}, {.learning_rate = 0.1});
      adamw_step({fresh}, {.learning_rate = 0.1});
      expect_equal(fresh, zero);
    }
  });
}

TEST(Adamw, EqualsTheFusedOneOfLibtorch) {
  for_each_isa([] {
    const AdamwTensors ours = make_tensors(70001, at::kFloat, at::kFloat);
    const AdamwTensors theirs = copy_of(ours);
    const at::Tensor steps = at::zeros({});
    for (int64_t step = 1; step <= 5; ++step) {
      ours.gradient.normal_();
      const at::Tensor scaled = ours.gradient * 1024.0;
      steps.add_(1.0);
      at::Tensor parameter = theirs.parameter;
      at::Tensor gradient = scaled.clone();
      at::Tensor first = theirs.first_moment;
      at::Tensor second = theirs.second_moment;
      at::_fused_adamw_({parameter}, {gradient}, {first}, {second}, {}, {steps}, 0.01, 0.9, 0.999, 0.1, 1e-8, false,
                        false, at::scalar_tensor(1024.0), at::zeros({}));
      AdamwTensors with_scale = ours;
      with_scale.gradient = scaled;
      adamw_step({with_scale}, {.learning_rate = 0.01, .weight_decay = 0.1, .step = step}, {.scale = 1.0 / 1024.0});
    }
    expect_near(ours, theirs, 1e-6);
  });
}

/// A flat gradient of two parameters of which one decays, as views of one buffer and as tensors of their own.
TEST(Adamw, ViewsOfAFlatBufferEqualTensorsOfTheirOwn) {
  for_each_isa([] {
    const Dtypes dtypes{at::kFloat, at::kBFloat16, at::kFloat, at::kBFloat16};
    const AdamwTensors flat = make_tensors(70003, dtypes);
    std::vector<AdamwTensors> views;
    std::vector<AdamwTensors> alone;
    for (const auto& [begin, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 70000}, {70000, 3}}) {
      const auto part = [&, from = begin, length = count](const at::Tensor& x) { return x.narrow(0, from, length); };
      views.push_back({part(flat.parameter), part(flat.gradient), part(flat.first_moment), part(flat.second_moment),
                       begin == 0, part(flat.copy)});
      alone.push_back(copy_of(views.back()));
    }
    const AdamwScalars scalars{.learning_rate = 0.1, .weight_decay = 0.3};
    adamw_step(views, scalars);
    adamw_step(alone, scalars);
    for (size_t i = 0; i < views.size(); ++i) {
      expect_equal(views[i], alone[i]);
    }
  });
}

TEST(Adamw, ManyTensorsEqualEachAlone) {
  std::vector<AdamwTensors> together;
  std::vector<AdamwTensors> alone;
  for (const int64_t count : {3, 70000, 1, 1024, 200001}) {
    together.push_back(make_tensors(count, at::kFloat, at::kFloat));
    alone.push_back(copy_of(together.back()));
  }
  const AdamwScalars scalars{.learning_rate = 0.1, .weight_decay = 0.01};
  adamw_step(together, scalars);
  for (size_t i = 0; i < alone.size(); ++i) {
    adamw_step({alone[i]}, scalars);
    EXPECT_TRUE(together[i].parameter.equal(alone[i].parameter));
  }
}

TEST(Sgd, FollowsItsFormula) {
  for_each_isa([] {
    for (const auto& precision : kPrecisions) {
      const AdamwTensors t = make_tensors(777, precision.dtype, precision.dtype);
      const at::Tensor p = t.parameter.to(at::kDouble);
      const at::Tensor want = p - 0.1 * (0.5 * t.gradient.to(at::kDouble) + 0.2 * p);
      sgd_step({t}, 0.1, 0.2, {.scale = 0.5});
      EXPECT_LT(relative_error(t.parameter, want), precision.tolerance);
    }
  });
}

}  // namespace
}  // namespace assay::engine
