// Rows of features, products of a few rows, and Adam on the gradient of a matrix as it is made.
#ifndef FSGC_AVX2
constexpr int LANES = 16;
constexpr int BLOCK = 12;  // rows of a tile: with 2 vectors each they fill the registers
#else
constexpr int LANES = 8;
constexpr int BLOCK = 6;
#endif
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
INLINE void store(float* to, Lanes value) { *reinterpret_cast<Lanes*>(to) = value; }

constexpr int PANEL = 2 * LANES;  // columns of a tile

constexpr long up(long count, long unit) { return (count + unit - 1) / unit * unit; }

// The same number in all lanes. Not 0 + x, which is no plain copy (it turns -0 into 0): the addition would stay and take
// tiles half of their speed.
INLINE Lanes all(float value) { return value - Lanes{}; }

INLINE float sum(Lanes v) {
    typedef float Half __attribute__((vector_size(32)));
    typedef float Quarter __attribute__((vector_size(16)));
#ifndef FSGC_AVX2
    const Half half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    const Half half = v;
#endif
    const Quarter quarter =
        __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

// Widths of rows are multiples of PANEL.
INLINE float dot(long width, const float* a, const float* b) {
    Lanes even{}, odd{};
    for (long c = 0; c < width; c += PANEL) {
        even += load(a + c) * load(b + c);
        odd += load(a + c + LANES) * load(b + c + LANES);
    }
    return sum(even + odd);
}

// y += factor x
INLINE void add(long width, float factor, const float* x, float* y) {
    for (long c = 0; c < width; c += LANES) store(y + c, load(y + c) + all(factor) * load(x + c));
}

// y [columns, rows] = x [rows, columns]
INLINE void transpose(long rows, long columns, const float* x, long x_step, float* y, long y_step) {
    for (long c = 0; c < columns; ++c)
        for (long r = 0; r < rows; ++r) y[c * y_step + r] = x[r * x_step + c];
}

// `ROWS` rows of y = x w and `COLUMNS` vectors of each.
template <int ROWS, int COLUMNS>
INLINE void tile(int k, const float* x, long x_step, long k_step, const float* w, long w_step, float* y, long y_step) {
    Lanes sums[ROWS][COLUMNS] = {};
    for (int i = 0; i < k; ++i) {
        Lanes right[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) right[c] = load(w + i * w_step + c * LANES);
        for (int r = 0; r < ROWS; ++r) {
            const Lanes left = all(x[r * x_step + i * k_step]);
            for (int c = 0; c < COLUMNS; ++c) sums[r][c] += left * right[c];
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) store(y + r * y_step + c * LANES, sums[r][c]);
}

// A tile of as many rows as there are, at most ROWS; x is transposed.
template <int ROWS>
INLINE void tile_of(int rows, int k, const float* x, long k_step, const float* w, long w_step, float* y, long y_step) {
    if constexpr (ROWS > 1) {
        if (rows < ROWS) return tile_of<ROWS - 1>(rows, k, x, k_step, w, w_step, y, y_step);
    }
    tile<ROWS, 2>(k, x, 1, k_step, w, w_step, y, y_step);
}

// y [rows, columns] = xᵀ w with x [k, rows], `columns` a multiple of PANEL. In blocks of about as
// many rows: with as few as an episode has, single rows left over would take a good part of the time. Not inlined where
// it is used: a compiler takes minutes over that many tiles in one function.
static NOINLINE void few_rows(int rows, int k, int columns, const float* x, long k_step, const float* w, long w_step, float* y, long y_step) {
    const int blocks = (rows + BLOCK - 1) / BLOCK;
    for (int c = 0; c < columns; c += PANEL)
        for (int b = 0, r = 0; b < blocks; ++b) {
            const int height = (rows - r) / (blocks - b);
            tile_of<BLOCK>(height, k, x + r, k_step, w + c, w_step, y + r * y_step + c, y_step);
            r += height;
        }
}

template <int COLUMNS>
INLINE void column_block(int rows, int k, const float* x, long x_step, long k_step, const float* w, long w_step, float* y, long y_step) {
    constexpr int ROWS = 8;
    int r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        tile<ROWS, COLUMNS>(k, x + r * x_step, x_step, k_step, w, w_step, y + r * y_step, y_step);
    for (; r < rows; ++r) tile<1, COLUMNS>(k, x + r * x_step, x_step, k_step, w, w_step, y + r * y_step, y_step);
}

// y [rows, columns] = x w, `columns` a multiple of LANES.
static NOINLINE void many_rows(int rows, int k, int columns, const float* x, long x_step, long k_step, const float* w, long w_step, float* y, long y_step) {
    int c = 0;
    for (; c + PANEL <= columns; c += PANEL) column_block<2>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
    if (c < columns) column_block<1>(rows, k, x, x_step, k_step, w + c, w_step, y + c, y_step);
}

// Estimates of 1/√x and 1/x, of 14 bits with AVX-512 and of 12 with AVX2.
#ifndef FSGC_AVX2
INLINE Lanes larger(Lanes x, Lanes y) { return _mm512_max_ps(x, y); }
INLINE Lanes estimated_inverse_root(Lanes x) { return _mm512_rsqrt14_ps(x); }
INLINE Lanes estimated_inverse(Lanes x) { return _mm512_rcp14_ps(x); }
#else
INLINE Lanes larger(Lanes x, Lanes y) { return _mm256_max_ps(x, y); }
INLINE Lanes estimated_inverse_root(Lanes x) { return _mm256_rsqrt_ps(x); }
INLINE Lanes estimated_inverse(Lanes x) { return _mm256_rcp_ps(x); }
#endif

// 1 / (√v + least). A processor takes longer over roots and divisions than over all else that Adam does; a step of
// Newton's method makes an estimate nearly as good as rounded.
INLINE Lanes inverse_of_root(Lanes v, float least) {
    const Lanes positive = larger(v, all(1e-36f));  // of 0 the estimate is infinite; the root is far below `least`
    const Lanes estimate = estimated_inverse_root(positive);
    const Lanes root = positive * estimate;
    const Lanes sum = root + 0.5f * root * (1 - root * estimate) + least;
    const Lanes inverse = estimated_inverse(sum);
    return inverse * (2 - sum * inverse);
}

// Adam with its usual constants. Its update, m/(1-β1ᵗ) / (√(v/(1-β2ᵗ)) + ε) times the rate, is taken as
// `rate` m / (√v + `least`): of the corrections nothing is left to be done for each weight.
struct Adam {
    float rate, least;

    static Adam of_step(long taken, double lr) {
        const double at_mean = 1 - std::pow(0.9, taken), at_square = std::sqrt(1 - std::pow(0.999, taken));
        return {float(lr * at_square / at_mean), float(1e-8 * at_square)};
    }

    // `count` is a multiple of LANES.
    INLINE void update(long count, const float* __restrict grad, float* __restrict weight, float* __restrict mean, float* __restrict square) const {
        for (long i = 0; i < count; i += LANES) {
            const Lanes g = load(grad + i);
            const Lanes m = load(mean + i) + 0.1f * (g - load(mean + i));
            const Lanes v = 0.999f * load(square + i) + 0.001f * g * g;
            store(mean + i, m);
            store(square + i, v);
            store(weight + i, load(weight + i) - rate * m * inverse_of_root(v, least));
        }
    }
};

// Weights with Adam's two averages, each an array of its own.
struct Tuned {
    float *weight, *mean, *square;

    Tuned at(long offset) const { return {weight + offset, mean + offset, square + offset}; }
};

// Adam on a matrix [ROWS, PANEL] of rows `step` apart, of which the gradient is x w with `k` terms. The gradient of a
// tile is used where it is made and never goes further from the processor than its nearest cache.
template <int ROWS>
INLINE void tune_tile(const Adam& adam, int k, const float* x, long x_step, long k_step, const float* w, long w_step, Tuned tuned, long step) {
    alignas(64) float grad[ROWS * PANEL];
    tile<ROWS, 2>(k, x, x_step, k_step, w, w_step, grad, PANEL);
    for (int r = 0; r < ROWS; ++r) {
        const Tuned row = tuned.at(r * step);
        adam.update(PANEL, grad + r * PANEL, row.weight, row.mean, row.square);
    }
}

// The same for [rows, columns] of any size, `columns` a multiple of PANEL. Between two blocks of BLOCK rows of x lies
// `block_step`.
INLINE void tune_blocks(const Adam& adam, int rows, int k, int columns, const float* x, long x_step, long k_step, long block_step, const float* w, long w_step, Tuned tuned) {
    constexpr int FEW = 4;
    for (int start = 0; start < rows; start += BLOCK, x += block_step)
        for (int c = 0; c < columns; c += PANEL) {
            const int height = rows - start < BLOCK ? rows - start : BLOCK;
            const Tuned block = tuned.at(long(start) * columns + c);
            if (height == BLOCK) {
                tune_tile<BLOCK>(adam, k, x, x_step, k_step, w + c, w_step, block, columns);
                continue;
            }
            int r = 0;
            for (; r + FEW <= height; r += FEW)
                tune_tile<FEW>(adam, k, x + r * x_step, x_step, k_step, w + c, w_step, block.at(long(r) * columns), columns);
            for (; r < height; ++r)
                tune_tile<1>(adam, k, x + r * x_step, x_step, k_step, w + c, w_step, block.at(long(r) * columns), columns);
        }
}

// The two ways x may lie; that the compiler knows of one step that it is 1 makes tiles a good deal faster.
static NOINLINE void tune_standing(const Adam& adam, int rows, int k, int columns, const float* x, long k_step, long block_step, const float* w, long w_step, Tuned tuned) {
    tune_blocks(adam, rows, k, columns, x, 1, k_step, block_step, w, w_step, tuned);
}
static NOINLINE void tune_lying(const Adam& adam, int rows, int k, int columns, const float* x, long x_step, const float* w, long w_step, Tuned tuned) {
    tune_blocks(adam, rows, k, columns, x, x_step, 1, x_step * BLOCK, w, w_step, tuned);
}
