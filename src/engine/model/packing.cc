#include "engine/model/packing.h"

#include "engine/kernels/packed_weight.h"
#include "engine/model/mapped_pages.h"

namespace assay::engine {

void pack_frozen_weights(const std::vector<Linear*>& linears) {
  for (Linear* linear : linears) {
    if (PackedWeight::suits(linear->weight_OI)) {
      linear->frozen = c10::make_intrusive<PackedWeight>(linear->weight_OI, release_mapped_pages);
    }
  }
}

int64_t packed_bytes(const std::vector<Linear*>& linears) {
  constexpr int64_t kDirections = 2;
  int64_t bytes = 0;
  for (const Linear* linear : linears) {
    const at::Tensor& weight_OI = linear->weight_OI;
    bytes += PackedWeight::suits(weight_OI) ? kDirections * static_cast<int64_t>(weight_OI.nbytes()) : 0;
  }
  return bytes;
}

}  // namespace assay::engine
