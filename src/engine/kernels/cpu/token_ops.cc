// What stands at both ends of a language model: the table of embeddings and the loss.
#include <vector>

#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"

namespace assay::engine::cpu {
namespace {

/// Tokens grouped by id: `tokens` in ascending order of id (and of position within one id); group g is
/// tokens[starts[g], starts[g + 1]).
struct TokenGroups {
  std::vector<int64_t> tokens;
  std::vector<int64_t> starts;
};

TokenGroups group_by_id(const int64_t* ids, int64_t count) {
  TokenGroups groups;
  groups.tokens.resize(count);
  for (int64_t token = 0; token < count; ++token) {
    groups.tokens[token] = token;
  }
  std::stable_sort(groups.tokens.begin(), groups.tokens.end(), [&](int64_t a, int64_t b) { return ids[a] < ids[b]; });
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || ids[groups.tokens[i]] != ids[groups.tokens[i - 1]]) {
      groups.starts.push_back(i);
    }
  }
  groups.starts.push_back(count);
  return groups;
}

}  // namespace

at::Tensor embedding_forward(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier) {
  const int64_t width = weight_VH.size(1);
  const int64_t* ids = ids_T.const_data_ptr<int64_t>();
  const auto outside = [&](int64_t id) { return id < 0 || id >= weight_VH.size(0); };
  TORCH_CHECK_INDEX(std::none_of(ids, ids + ids_T.size(0), outside), "embedding: a token id is outside the ",
                    weight_VH.size(0), " entries of the table: the data was tokenised for another vocabulary");
  const TypedKernels& loops = loops_for(weight_VH);
  at::Tensor out_TH = at::empty({ids_T.size(0), width}, weight_VH.options());
  parallel_rows(ids_T.size(0), width, [&](int64_t begin, int64_t end) {
    loops.gather_rows(weight_VH.const_data_ptr(), ids, static_cast<float>(multiplier), out_TH.mutable_data_ptr(), width,
                      begin, end);
  });
  return out_TH;
}

at::Tensor embedding_backward(const at::Tensor& grad_TH, const at::Tensor& ids_T, int64_t rows, double multiplier) {
  const int64_t width = grad_TH.size(1);
  const int64_t* ids = ids_T.const_data_ptr<int64_t>();
  at::Tensor grad_VH = at::zeros({rows, width}, grad_TH.options());
  char* out = static_cast<char*>(grad_VH.mutable_data_ptr());
  const TypedKernels& loops = loops_for(grad_TH);
  const TokenGroups groups = group_by_id(ids, ids_T.size(0));
  parallel_rows(static_cast<int64_t>(groups.starts.size()) - 1, width, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t* tokens = groups.tokens.data() + groups.starts[g];
      loops.sum_rows(grad_TH.const_data_ptr(), tokens, groups.starts[g + 1] - groups.starts[g],
                     static_cast<float>(multiplier), out + ids[*tokens] * width * grad_TH.element_size(), width);
    }
  });
  return grad_VH;
}

at::Tensor cross_entropy(at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor, double gradient,
                         double smoothing) {
  const int64_t rows = logits_CV.size(0);
  const int64_t width = logits_CV.size(1);
  char* data = static_cast<char*>(logits_CV.mutable_data_ptr());
  const int64_t* targets = targets_C.const_data_ptr<int64_t>();
  const TypedKernels& loops = loops_for(logits_CV);
  std::vector<float> losses(rows);
  parallel_rows(rows, width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      losses[row] = loops.cross_entropy_row(data + row * width * logits_CV.element_size(), width, targets[row],
                                            static_cast<float>(divisor), static_cast<float>(gradient),
                                            static_cast<float>(smoothing));
    }
  });
  double total = 0.0;
  for (const float loss : losses) {
    total += loss;
  }
  return at::scalar_tensor(total, logits_CV.options().dtype(at::kFloat));
}

at::Tensor dropout_mask(const DropoutDraw& draw) {
  at::Tensor mask_TF = at::empty({draw.keys_T.size(0), draw.features}, draw.keys_T.options().dtype(at::kByte));
  if (mask_TF.is_meta()) {
    return mask_TF;
  }
  const DropoutMaskTask task = mask_task(draw, draw.keys_T, mask_TF);
  parallel_rows(task.tokens, task.features,
                [&](int64_t begin, int64_t end) { cpu_kernels().dropout_mask(task, begin, end); });
  return mask_TF;
}

}  // namespace assay::engine::cpu
