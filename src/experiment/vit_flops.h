// How many floating-point operations a ViT's forward pass takes.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace assay::experiment {

/// The sizes that decide it, from a Hugging Face config.json of the family vit.
struct VitShape {
  int64_t image_size = 224;
  int64_t patch_size = 16;
  int64_t channels = 3;
  int64_t hidden_size = 768;
  int64_t layers = 12;
  int64_t intermediate_size = 3072;
  int64_t labels = 2;

  int64_t patches() const { return (image_size / patch_size) * (image_size / patch_size); }
};

/// Absent keys have the defaults of transformers' ViTConfig.
Result<VitShape> ReadVitShape(const std::string& model_dir);

/// Of one image: 2 for each multiplication of a matrix product with its addition; norms, GELU and softmax do not count.
/// ViT-B/16 with 1,000 classes: 35.13e9.
double VitForwardFlops(const VitShape& shape);

}  // namespace assay::experiment
