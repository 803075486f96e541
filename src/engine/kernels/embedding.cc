#include <vector>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
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

at::Tensor gather(const TypedKernels& kernels, const at::Tensor& ids_T, const at::Tensor& weight_VH,
                  double multiplier) {
  const int64_t width = weight_VH.size(1);
  const int64_t* ids = ids_T.const_data_ptr<int64_t>();
  const auto outside = [&](int64_t id) { return id < 0 || id >= weight_VH.size(0); };
  TORCH_CHECK_INDEX(std::none_of(ids, ids + ids_T.size(0), outside), "embedding: a token id is outside the ",
                    weight_VH.size(0), " entries of the table: the data was tokenised for another vocabulary");
  at::Tensor out_TH = at::empty({ids_T.size(0), width}, weight_VH.options());
  parallel_rows(ids_T.size(0), width, [&](int64_t begin, int64_t end) {
    kernels.gather_rows(weight_VH.const_data_ptr(), ids, static_cast<float>(multiplier), out_TH.mutable_data_ptr(),
                        width, begin, end);
  });
  return out_TH;
}

at::Tensor scatter(const TypedKernels& kernels, const at::Tensor& ids_T, const at::Tensor& grad_TH, int64_t rows,
                   double multiplier) {
  const int64_t width = grad_TH.size(1);
  const int64_t* ids = ids_T.const_data_ptr<int64_t>();
  at::Tensor grad_VH = at::zeros({rows, width}, grad_TH.options());
  char* out = static_cast<char*>(grad_VH.mutable_data_ptr());
  const TokenGroups groups = group_by_id(ids, ids_T.size(0));
  parallel_rows(static_cast<int64_t>(groups.starts.size()) - 1, width, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t* tokens = groups.tokens.data() + groups.starts[g];
      kernels.sum_rows(grad_TH.const_data_ptr(), tokens, groups.starts[g + 1] - groups.starts[g],
                       static_cast<float>(multiplier), out + ids[*tokens] * width * grad_TH.element_size(), width);
    }
  });
  return grad_VH;
}

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& ids, const at::Tensor& weight_VH,
                            double multiplier) {
    const at::Tensor ids_T = ids.contiguous();
    ctx->save_for_backward({ids_T});
    ctx->saved_data["rows"] = weight_VH.size(0);
    ctx->saved_data["multiplier"] = multiplier;
    if (const TypedKernels* kernels = kernels_for(weight_VH); kernels != nullptr) {
      return gather(*kernels, ids_T, weight_VH.contiguous(), multiplier);
    }
    at::Tensor out_TH = weight_VH.index_select(0, ids_T);
    return multiplier == 1.0 ? out_TH : out_TH.mul_(multiplier);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor ids_T = ctx->get_saved_variables()[0];
    const double multiplier = ctx->saved_data["multiplier"].toDouble();
    const int64_t rows = ctx->saved_data["rows"].toInt();
    const at::Tensor grad_TH = grads[0].contiguous();
    if (const TypedKernels* kernels = kernels_for(grad_TH); kernels != nullptr) {
      return {{}, scatter(*kernels, ids_T, grad_TH, rows, multiplier), {}};
    }
    // Unlike index_add_ on a GPU it sums in the same order on every run.
    at::Tensor grad_VH = at::embedding_dense_backward(grad_TH, ids_T, rows, /*padding_idx=*/-1,
                                                      /*scale_grad_by_freq=*/false);
    return {{}, multiplier == 1.0 ? grad_VH : grad_VH.mul_(multiplier), {}};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier) {
  return Embedding::apply(ids_T, weight_VH, multiplier);
}

}  // namespace assay::engine
