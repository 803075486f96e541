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

int64_t packed_bytes(const std::vector<Linear*>& linears, bool input_trains) {
  int64_t bytes = 0;
  bool goes_back = input_trains;
  for (const Linear* linear : linears) {
    const at::Tensor& weight_OI = linear->weight_OI;
    const int64_t directions = goes_back ? 2 : 1;
    bytes += PackedWeight::suits(weight_OI) ? directions * static_cast<int64_t>(weight_OI.nbytes()) : 0;
    goes_back = goes_back || linear->trains();
  }
  return bytes;
}

}  // namespace assay::engine
