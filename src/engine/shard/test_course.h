// What a run of training shows, and whether two runs took the same course.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace assay::engine::testing {

struct Course {
  std::vector<double> losses;
  std::vector<double> norms;  ///< of the gradients, before they are clipped
  std::map<std::string, at::Tensor> weights;
};

/// Compares the weights but for those whose names end with `exempt`.
inline void expect_same_course(const Course& got, const Course& want, const std::string& exempt = "none") {
  ASSERT_EQ(got.losses.size(), want.losses.size());
  for (size_t i = 0; i < want.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], want.losses[i], 1e-5) << "loss of step " << i;
    EXPECT_NEAR(got.norms[i] / want.norms[i], 1.0, 1e-6 * static_cast<double>(i + 1)) << "norm of step " << i;
  }
  ASSERT_EQ(got.weights.size(), want.weights.size());
  for (const auto& [name, tensor] : want.weights) {
    if (!name.ends_with(exempt)) {
      const double error = (got.weights.at(name) - tensor).norm().item<double>();
      EXPECT_LE(error, 1e-4 * tensor.norm().item<double>()) << name;
    }
  }
}

}  // namespace assay::engine::testing
