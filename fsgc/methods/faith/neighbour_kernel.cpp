// FAITH's average over neighbours, a_i = Σ_j softmax_j(s_ij) v_j over the rows j with s_ij above a threshold, and back.
//
// Rows are places of D distinct graphs: s_ij = c_pq + e_ij, with p and q the graphs of rows i and j, c their cosine, and e
// the edges that are added. Only few cosines are above the threshold. A row's neighbours are kept as graphs, each once,
// with the sum of the weights of its places; what has no weight costs nothing after that.
#include "../../native/processor.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
FSGC_FOR_PROCESSOR
#include "../../native/rows.h"

using namespace fsgc;

namespace {

struct AverageCall {
    int64_t rows, graphs, width, values;  // R; D; of a unit vector, a multiple of LANES; of what is averaged, v
    int64_t most;                         // neighbours there is room for
    double threshold;
    const int64_t* place;     // [R], the graph of each row
    const float* similarity;  // [D, D]
    const float* edges;       // [R, R]
    int64_t* pointer;         // [R + 1], where the neighbours of a row begin
    int64_t* neighbour;       // [most], graphs
    float* weight;            // [most]
    uint8_t* connected;       // [R], whether anything is above the threshold
    const float *unit, *value;  // [D, width], [D, v]
    float* averaged;            // [R, v]
    const float* grad;          // [R, v]
    float *grad_unit, *grad_value;
};

constexpr int MOST_VECTORS = 8;  // that are summed at a time

long padded(long columns) { return (columns + LANES - 1) / LANES * LANES; }

// Rows [n, columns] with zeros up to a whole number of vectors.
std::vector<float> with_padding(long n, long columns, const float* from) {
    const long step = padded(columns);
    std::vector<float> to(n * step);
    for (long r = 0; r < n; ++r) std::memcpy(to.data() + r * step, from + r * columns, sizeof(float) * columns);
    return to;
}

void without_padding(long n, long columns, const std::vector<float>& from, float* to) {
    for (long r = 0; r < n; ++r) std::memcpy(to + r * columns, from.data() + r * padded(columns), sizeof(float) * columns);
}

template <int N>
FSGC_INLINE void sum_columns(long count, const int64_t* which, const float* weight, const float* rows, long step, float* to) {
    Lanes sums[N] = {};
    for (long i = 0; i < count; ++i) {
        const float* row = rows + which[i] * step;
        for (int c = 0; c < N; ++c) sums[c] += weight[i] * load(row + c * LANES);
    }
    for (int c = 0; c < N; ++c) store(to + c * LANES, sums[c]);
}

// The sum of some rows times their weights.
void weighted_sum(long count, const int64_t* which, const float* weight, const float* rows, long step, float* to) {
    long c = 0;
    for (; c + MOST_VECTORS * LANES <= step; c += MOST_VECTORS * LANES) sum_columns<MOST_VECTORS>(count, which, weight, rows + c, step, to + c);
    for (; c < step; c += LANES) sum_columns<1>(count, which, weight, rows + c, step, to + c);
}

float dot(long step, const float* x, const float* y) {
    Lanes even{}, odd{};
    long c = 0;
    for (; c + 2 * LANES <= step; c += 2 * LANES) {
        even += load(x + c) * load(y + c);
        odd += load(x + c + LANES) * load(y + c + LANES);
    }
    if (c < step) even += load(x + c) * load(y + c);
    return total(even + odd);
}

void add_times(long step, float factor, const float* x, float* y) {
    for (long c = 0; c < step; c += LANES) store(y + c, load(y + c) + factor * load(x + c));
}

// Finds the neighbours of row i and their weights, not yet divided by their sum; how many there are, or -1 without room for
// them. `plain` says how many rows each graph has, `where` has a -1 for each graph, and both are left as they were.
long weigh(const AverageCall& call, long i, std::vector<float>& plain, std::vector<long>& where, long room, int64_t* neighbour, float* weight) {
    const float *similarity = call.similarity + call.place[i] * call.graphs, *edges = call.edges + i * call.rows;
    const float threshold = static_cast<float>(call.threshold);
    std::vector<int64_t> tied;
    for (long j = 0; j < call.rows; ++j)
        if (edges[j] != 0) tied.push_back(j);
    for (const int64_t j : tied) --plain[call.place[j]];
    long found = 0;
    for (long q = 0; q < call.graphs; ++q)
        if (similarity[q] > threshold && plain[q] > 0) {
            if (found == room) return -1;
            neighbour[found] = q;
            weight[found++] = plain[q] * std::exp(similarity[q]);
        }
    if (!tied.empty())
        for (long at = 0; at < found; ++at) where[neighbour[at]] = at;
    for (const int64_t j : tied) {
        const int64_t q = call.place[j];
        const float sum = similarity[q] + edges[j];
        ++plain[q];
        if (sum <= threshold) continue;
        if (where[q] < 0) {
            if (found == room) return -1;
            where[q] = found;
            neighbour[found] = q;
            weight[found++] = 0;
        }
        weight[where[q]] += std::exp(sum);
    }
    if (!tied.empty())
        for (long at = 0; at < found; ++at) where[neighbour[at]] = -1;
    return found;
}

}  // namespace

// Finds all neighbours and their weights; how many there are, or -1 where there is no room for them.
extern "C" int64_t faith_neighbours(const AverageCall* call) {
    std::vector<float> plain(call->graphs);
    std::vector<long> where(call->graphs, -1);
    for (long i = 0; i < call->rows; ++i) ++plain[call->place[i]];
    int64_t end = 0;
    for (long i = 0; i < call->rows; ++i) {
        call->pointer[i] = end;
        int64_t* neighbour = call->neighbour + end;
        float* weight = call->weight + end;
        long found = weigh(*call, i, plain, where, call->most - end, neighbour, weight);
        if (found < 0) return -1;
        call->connected[i] = found > 0;
        if (!found) {  // all rows count the same
            if (call->most - end < call->graphs) return -1;
            for (; found < call->graphs; ++found) {
                neighbour[found] = found;
                weight[found] = plain[found];
            }
        }
        double sum = 0;
        for (long at = 0; at < found; ++at) sum += weight[at];
        for (long at = 0; at < found; ++at) weight[at] = static_cast<float>(weight[at] / sum);
        end += found;
    }
    call->pointer[call->rows] = end;
    return end;
}

extern "C" void faith_average(const AverageCall* call) {
    const long step = padded(call->values);
    const std::vector<float> value = with_padding(call->graphs, call->values, call->value);
    std::vector<float> averaged(call->rows * step);
    for (long i = 0; i < call->rows; ++i) {
        const int64_t first = call->pointer[i];
        weighted_sum(call->pointer[i + 1] - first, call->neighbour + first, call->weight + first, value.data(), step, averaged.data() + i * step);
    }
    without_padding(call->rows, call->values, averaged, call->averaged);
}

// With G_pq the sum of ds_ij over the places i of p and j of q, the gradient at the unit vectors is (G + Gᵀ) U.
extern "C" void faith_average_back(const AverageCall* call) {
    const long step = padded(call->values), graphs = call->graphs;
    const std::vector<float> value = with_padding(graphs, call->values, call->value);
    const std::vector<float> grad = with_padding(call->rows, call->values, call->grad);
    const std::vector<float> averaged = with_padding(call->rows, call->values, call->averaged);
    std::vector<float> at_value(graphs * step), at_similarity(graphs * graphs);
    for (long i = 0; i < call->rows; ++i) {
        const float* of_row = grad.data() + i * step;
        const float mean = dot(step, of_row, averaged.data() + i * step);
        const int64_t p = call->place[i];
        for (int64_t at = call->pointer[i]; at < call->pointer[i + 1]; ++at) {
            const int64_t q = call->neighbour[at];
            add_times(step, call->weight[at], of_row, at_value.data() + q * step);
            if (!call->connected[i]) continue;
            const float slope = call->weight[at] * (dot(step, of_row, value.data() + q * step) - mean);
            at_similarity[p * graphs + q] += slope;
            at_similarity[q * graphs + p] += slope;
        }
    }
    without_padding(graphs, call->values, at_value, call->grad_value);
    std::vector<int64_t> which(graphs);
    std::vector<float> slope(graphs);
    for (long p = 0; p < graphs; ++p) {
        long count = 0;
        for (long q = 0; q < graphs; ++q)
            if (at_similarity[p * graphs + q] != 0) {
                which[count] = q;
                slope[count++] = at_similarity[p * graphs + q];
            }
        weighted_sum(count, which.data(), slope.data(), call->unit, call->width, call->grad_unit + p * call->width);
    }
}
