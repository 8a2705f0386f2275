from tirscript.script import tir as T

# --- before ---


@T.prim_func
def winograd(
    image: T.Buffer((8, 16, 14), "float32"),
    weight: T.Buffer((16, 8, 3, 3), "float32"),
    out: T.Buffer((16, 14, 12), "float32"),
):
    g = T.allocate_const(
        [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]], "float32", (4, 3)
    )
    b = T.allocate_const(
        [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, -1.0, 1.0, 0.0], [0.0, 1.0, 0.0, -1.0]],
        "float32",
        (4, 4),
    )
    a = T.allocate_const([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, -1.0, -1.0]], "float32", (2, 4))
    filters = T.alloc_buffer((4, 4, 16, 8), "float32")
    tiles = T.alloc_buffer((4, 4, 8, 42), "float32")
    products = T.alloc_buffer((4, 4, 16, 42), "float32")
    for k, c in T.grid(16, 8):
        with T.block("filter"):  # g w g^T
            vk, vc = T.axis.remap("SS", [k, c])
            rows = T.alloc_buffer((4, 3), "float32")
            for i in T.unroll(4):
                for j in T.unroll(3):
                    rows[i, j] = 0.0
                    for l in T.unroll(3):
                        if g[i, l] != 0.0:
                            rows[i, j] = rows[i, j] + g[i, l] * weight[vk, vc, l, j]
            for i in T.unroll(4):
                for j in T.unroll(4):
                    filters[i, j, vk, vc] = 0.0
                    for l in T.unroll(3):
                        if g[j, l] != 0.0:
                            filters[i, j, vk, vc] = filters[i, j, vk, vc] + rows[i, l] * g[j, l]
    for c, y, x in T.grid(8, 7, 6):
        with T.block("tile"):  # b d b^T
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            lines = T.alloc_buffer((4, 4), "float32")
            for i in T.unroll(4):
                for j in T.unroll(4):
                    lines[i, j] = 0.0
                    for l in T.unroll(4):
                        if b[i, l] != 0.0:
                            lines[i, j] = lines[i, j] + b[i, l] * image[vc, vy * 2 + l, vx * 2 + j]
            for i in T.unroll(4):
                for j in T.unroll(4):
                    tiles[i, j, vc, vy * 6 + vx] = 0.0
                    for l in T.unroll(4):
                        if b[j, l] != 0.0:
                            tiles[i, j, vc, vy * 6 + vx] = (
                                tiles[i, j, vc, vy * 6 + vx] + lines[i, l] * b[j, l]
                            )
    for i, j, k, p, c in T.grid(4, 4, 16, 42, 8):
        with T.block("multiply"):
            vi, vj, vk, vp, vc = T.axis.remap("SSSSR", [i, j, k, p, c])
            with T.init():
                products[vi, vj, vk, vp] = 0.0
            products[vi, vj, vk, vp] = (
                products[vi, vj, vk, vp] + filters[vi, vj, vk, vc] * tiles[vi, vj, vc, vp]
            )
    for k, y, x in T.grid(16, 7, 6):
        with T.block("inverse"):  # a m a^T
            vk, vy, vx = T.axis.remap("SSS", [k, y, x])
            sums = T.alloc_buffer((2, 4), "float32")
            for i in T.unroll(2):
                for j in T.unroll(4):
                    sums[i, j] = 0.0
                    for l in T.unroll(4):
                        if a[i, l] != 0.0:
                            sums[i, j] = sums[i, j] + a[i, l] * products[l, j, vk, vy * 6 + vx]
            for i in T.unroll(2):
                for j in T.unroll(2):
                    out[vk, vy * 2 + i, vx * 2 + j] = 0.0
                    for l in T.unroll(4):
                        if a[j, l] != 0.0:
                            out[vk, vy * 2 + i, vx * 2 + j] = (
                                out[vk, vy * 2 + i, vx * 2 + j] + sums[i, l] * a[j, l]
                            )


# --- after lowered ---


@T.prim_func
def winograd(
    image: T.Buffer((8, 16, 14), "float32"),
    weight: T.Buffer((16, 8, 3, 3), "float32"),
    out: T.Buffer((16, 14, 12), "float32"),
):
    image_1 = T.decl_buffer((1792,), "float32", data=image.data)
    weight_1 = T.decl_buffer((1152,), "float32", data=weight.data)
    out_1 = T.decl_buffer((2688,), "float32", data=out.data)
    g = T.allocate_const(
        [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]], "float32", (12,)
    )
    b = T.allocate_const(
        [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, -1.0, 1.0, 0.0], [0.0, 1.0, 0.0, -1.0]],
        "float32",
        (16,),
    )
    a = T.allocate_const([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, -1.0, -1.0]], "float32", (8,))
    filters = T.alloc_buffer((2048,), "float32")
    tiles = T.alloc_buffer((5376,), "float32")
    products = T.alloc_buffer((10752,), "float32")
    for k, c in T.grid(16, 8):
        # g w g^T
        rows = T.alloc_buffer((12,), "float32")
        rows[0] = 0.0
        rows[0] = rows[0] + weight_1[k * 72 + c * 9]
        rows[1] = 0.0
        rows[1] = rows[1] + weight_1[k * 72 + c * 9 + 1]
        rows[2] = 0.0
        rows[2] = rows[2] + weight_1[k * 72 + c * 9 + 2]
        rows[3] = 0.0
        rows[3] = rows[3] + 0.5 * weight_1[k * 72 + c * 9]
        rows[3] = rows[3] + 0.5 * weight_1[k * 72 + c * 9 + 3]
        rows[3] = rows[3] + 0.5 * weight_1[k * 72 + c * 9 + 6]
        rows[4] = 0.0
        rows[4] = rows[4] + 0.5 * weight_1[k * 72 + c * 9 + 1]
        rows[4] = rows[4] + 0.5 * weight_1[k * 72 + c * 9 + 4]
        rows[4] = rows[4] + 0.5 * weight_1[k * 72 + c * 9 + 7]
        rows[5] = 0.0
        rows[5] = rows[5] + 0.5 * weight_1[k * 72 + c * 9 + 2]
        rows[5] = rows[5] + 0.5 * weight_1[k * 72 + c * 9 + 5]
        rows[5] = rows[5] + 0.5 * weight_1[k * 72 + c * 9 + 8]
        rows[6] = 0.0
        rows[6] = rows[6] + 0.5 * weight_1[k * 72 + c * 9]
        rows[6] = rows[6] + -0.5 * weight_1[k * 72 + c * 9 + 3]
        rows[6] = rows[6] + 0.5 * weight_1[k * 72 + c * 9 + 6]
        rows[7] = 0.0
        rows[7] = rows[7] + 0.5 * weight_1[k * 72 + c * 9 + 1]
        rows[7] = rows[7] + -0.5 * weight_1[k * 72 + c * 9 + 4]
        rows[7] = rows[7] + 0.5 * weight_1[k * 72 + c * 9 + 7]
        rows[8] = 0.0
        rows[8] = rows[8] + 0.5 * weight_1[k * 72 + c * 9 + 2]
        rows[8] = rows[8] + -0.5 * weight_1[k * 72 + c * 9 + 5]
        rows[8] = rows[8] + 0.5 * weight_1[k * 72 + c * 9 + 8]
        rows[9] = 0.0
        rows[9] = rows[9] + weight_1[k * 72 + c * 9 + 6]
        rows[10] = 0.0
        rows[10] = rows[10] + weight_1[k * 72 + c * 9 + 7]
        rows[11] = 0.0
        rows[11] = rows[11] + weight_1[k * 72 + c * 9 + 8]
        filters[k * 8 + c] = 0.0
        filters[k * 8 + c] = filters[k * 8 + c] + rows[0]
        filters[k * 8 + c + 128] = 0.0
        filters[k * 8 + c + 128] = filters[k * 8 + c + 128] + rows[0] * 0.5
        filters[k * 8 + c + 128] = filters[k * 8 + c + 128] + rows[1] * 0.5
        filters[k * 8 + c + 128] = filters[k * 8 + c + 128] + rows[2] * 0.5
        filters[k * 8 + c + 256] = 0.0
        filters[k * 8 + c + 256] = filters[k * 8 + c + 256] + rows[0] * 0.5
        filters[k * 8 + c + 256] = filters[k * 8 + c + 256] + rows[1] * -0.5
        filters[k * 8 + c + 256] = filters[k * 8 + c + 256] + rows[2] * 0.5
        filters[k * 8 + c + 384] = 0.0
        filters[k * 8 + c + 384] = filters[k * 8 + c + 384] + rows[2]
        filters[k * 8 + c + 512] = 0.0
        filters[k * 8 + c + 512] = filters[k * 8 + c + 512] + rows[3]
        filters[k * 8 + c + 640] = 0.0
        filters[k * 8 + c + 640] = filters[k * 8 + c + 640] + rows[3] * 0.5
        filters[k * 8 + c + 640] = filters[k * 8 + c + 640] + rows[4] * 0.5
        filters[k * 8 + c + 640] = filters[k * 8 + c + 640] + rows[5] * 0.5
        filters[k * 8 + c + 768] = 0.0
        filters[k * 8 + c + 768] = filters[k * 8 + c + 768] + rows[3] * 0.5
        filters[k * 8 + c + 768] = filters[k * 8 + c + 768] + rows[4] * -0.5
        filters[k * 8 + c + 768] = filters[k * 8 + c + 768] + rows[5] * 0.5
        filters[k * 8 + c + 896] = 0.0
        filters[k * 8 + c + 896] = filters[k * 8 + c + 896] + rows[5]
        filters[k * 8 + c + 1024] = 0.0
        filters[k * 8 + c + 1024] = filters[k * 8 + c + 1024] + rows[6]
        filters[k * 8 + c + 1152] = 0.0
        filters[k * 8 + c + 1152] = filters[k * 8 + c + 1152] + rows[6] * 0.5
        filters[k * 8 + c + 1152] = filters[k * 8 + c + 1152] + rows[7] * 0.5
        filters[k * 8 + c + 1152] = filters[k * 8 + c + 1152] + rows[8] * 0.5
        filters[k * 8 + c + 1280] = 0.0
        filters[k * 8 + c + 1280] = filters[k * 8 + c + 1280] + rows[6] * 0.5
        filters[k * 8 + c + 1280] = filters[k * 8 + c + 1280] + rows[7] * -0.5
        filters[k * 8 + c + 1280] = filters[k * 8 + c + 1280] + rows[8] * 0.5
        filters[k * 8 + c + 1408] = 0.0
        filters[k * 8 + c + 1408] = filters[k * 8 + c + 1408] + rows[8]
        filters[k * 8 + c + 1536] = 0.0
        filters[k * 8 + c + 1536] = filters[k * 8 + c + 1536] + rows[9]
        filters[k * 8 + c + 1664] = 0.0
        filters[k * 8 + c + 1664] = filters[k * 8 + c + 1664] + rows[9] * 0.5
        filters[k * 8 + c + 1664] = filters[k * 8 + c + 1664] + rows[10] * 0.5
        filters[k * 8 + c + 1664] = filters[k * 8 + c + 1664] + rows[11] * 0.5
        filters[k * 8 + c + 1792] = 0.0
        filters[k * 8 + c + 1792] = filters[k * 8 + c + 1792] + rows[9] * 0.5
        filters[k * 8 + c + 1792] = filters[k * 8 + c + 1792] + rows[10] * -0.5
        filters[k * 8 + c + 1792] = filters[k * 8 + c + 1792] + rows[11] * 0.5
        filters[k * 8 + c + 1920] = 0.0
        filters[k * 8 + c + 1920] = filters[k * 8 + c + 1920] + rows[11]
    for c, y, x in T.grid(8, 7, 6):
        # b d b^T
        lines = T.alloc_buffer((16,), "float32")
        lines[0] = 0.0
        lines[0] = lines[0] + image_1[c * 224 + y * 28 + x * 2]
        lines[0] = lines[0] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 28]
        lines[1] = 0.0
        lines[1] = lines[1] + image_1[c * 224 + y * 28 + x * 2 + 1]
        lines[1] = lines[1] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 29]
        lines[2] = 0.0
        lines[2] = lines[2] + image_1[c * 224 + y * 28 + x * 2 + 2]
        lines[2] = lines[2] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 30]
        lines[3] = 0.0
        lines[3] = lines[3] + image_1[c * 224 + y * 28 + x * 2 + 3]
        lines[3] = lines[3] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 31]
        lines[4] = 0.0
        lines[4] = lines[4] + image_1[c * 224 + y * 28 + x * 2 + 14]
        lines[4] = lines[4] + image_1[c * 224 + y * 28 + x * 2 + 28]
        lines[5] = 0.0
        lines[5] = lines[5] + image_1[c * 224 + y * 28 + x * 2 + 15]
        lines[5] = lines[5] + image_1[c * 224 + y * 28 + x * 2 + 29]
        lines[6] = 0.0
        lines[6] = lines[6] + image_1[c * 224 + y * 28 + x * 2 + 16]
        lines[6] = lines[6] + image_1[c * 224 + y * 28 + x * 2 + 30]
        lines[7] = 0.0
        lines[7] = lines[7] + image_1[c * 224 + y * 28 + x * 2 + 17]
        lines[7] = lines[7] + image_1[c * 224 + y * 28 + x * 2 + 31]
        lines[8] = 0.0
        lines[8] = lines[8] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 14]
        lines[8] = lines[8] + image_1[c * 224 + y * 28 + x * 2 + 28]
        lines[9] = 0.0
        lines[9] = lines[9] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 15]
        lines[9] = lines[9] + image_1[c * 224 + y * 28 + x * 2 + 29]
        lines[10] = 0.0
        lines[10] = lines[10] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 16]
        lines[10] = lines[10] + image_1[c * 224 + y * 28 + x * 2 + 30]
        lines[11] = 0.0
        lines[11] = lines[11] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 17]
        lines[11] = lines[11] + image_1[c * 224 + y * 28 + x * 2 + 31]
        lines[12] = 0.0
        lines[12] = lines[12] + image_1[c * 224 + y * 28 + x * 2 + 14]
        lines[12] = lines[12] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 42]
        lines[13] = 0.0
        lines[13] = lines[13] + image_1[c * 224 + y * 28 + x * 2 + 15]
        lines[13] = lines[13] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 43]
        lines[14] = 0.0
        lines[14] = lines[14] + image_1[c * 224 + y * 28 + x * 2 + 16]
        lines[14] = lines[14] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 44]
        lines[15] = 0.0
        lines[15] = lines[15] + image_1[c * 224 + y * 28 + x * 2 + 17]
        lines[15] = lines[15] + -1.0 * image_1[c * 224 + y * 28 + x * 2 + 45]
        tiles[c * 42 + y * 6 + x] = 0.0
        tiles[c * 42 + y * 6 + x] = tiles[c * 42 + y * 6 + x] + lines[0]
        tiles[c * 42 + y * 6 + x] = tiles[c * 42 + y * 6 + x] + lines[2] * -1.0
        tiles[c * 42 + y * 6 + x + 336] = 0.0
        tiles[c * 42 + y * 6 + x + 336] = tiles[c * 42 + y * 6 + x + 336] + lines[1]
        tiles[c * 42 + y * 6 + x + 336] = tiles[c * 42 + y * 6 + x + 336] + lines[2]
        tiles[c * 42 + y * 6 + x + 672] = 0.0
        tiles[c * 42 + y * 6 + x + 672] = tiles[c * 42 + y * 6 + x + 672] + lines[1] * -1.0
        tiles[c * 42 + y * 6 + x + 672] = tiles[c * 42 + y * 6 + x + 672] + lines[2]
        tiles[c * 42 + y * 6 + x + 1008] = 0.0
        tiles[c * 42 + y * 6 + x + 1008] = tiles[c * 42 + y * 6 + x + 1008] + lines[1]
        tiles[c * 42 + y * 6 + x + 1008] = tiles[c * 42 + y * 6 + x + 1008] + lines[3] * -1.0
        tiles[c * 42 + y * 6 + x + 1344] = 0.0
        tiles[c * 42 + y * 6 + x + 1344] = tiles[c * 42 + y * 6 + x + 1344] + lines[4]
        tiles[c * 42 + y * 6 + x + 1344] = tiles[c * 42 + y * 6 + x + 1344] + lines[6] * -1.0
        tiles[c * 42 + y * 6 + x + 1680] = 0.0
        tiles[c * 42 + y * 6 + x + 1680] = tiles[c * 42 + y * 6 + x + 1680] + lines[5]
        tiles[c * 42 + y * 6 + x + 1680] = tiles[c * 42 + y * 6 + x + 1680] + lines[6]
        tiles[c * 42 + y * 6 + x + 2016] = 0.0
        tiles[c * 42 + y * 6 + x + 2016] = tiles[c * 42 + y * 6 + x + 2016] + lines[5] * -1.0
        tiles[c * 42 + y * 6 + x + 2016] = tiles[c * 42 + y * 6 + x + 2016] + lines[6]
        tiles[c * 42 + y * 6 + x + 2352] = 0.0
        tiles[c * 42 + y * 6 + x + 2352] = tiles[c * 42 + y * 6 + x + 2352] + lines[5]
        tiles[c * 42 + y * 6 + x + 2352] = tiles[c * 42 + y * 6 + x + 2352] + lines[7] * -1.0
        tiles[c * 42 + y * 6 + x + 2688] = 0.0
        tiles[c * 42 + y * 6 + x + 2688] = tiles[c * 42 + y * 6 + x + 2688] + lines[8]
        tiles[c * 42 + y * 6 + x + 2688] = tiles[c * 42 + y * 6 + x + 2688] + lines[10] * -1.0
        tiles[c * 42 + y * 6 + x + 3024] = 0.0
        tiles[c * 42 + y * 6 + x + 3024] = tiles[c * 42 + y * 6 + x + 3024] + lines[9]
        tiles[c * 42 + y * 6 + x + 3024] = tiles[c * 42 + y * 6 + x + 3024] + lines[10]
        tiles[c * 42 + y * 6 + x + 3360] = 0.0
        tiles[c * 42 + y * 6 + x + 3360] = tiles[c * 42 + y * 6 + x + 3360] + lines[9] * -1.0
        tiles[c * 42 + y * 6 + x + 3360] = tiles[c * 42 + y * 6 + x + 3360] + lines[10]
        tiles[c * 42 + y * 6 + x + 3696] = 0.0
        tiles[c * 42 + y * 6 + x + 3696] = tiles[c * 42 + y * 6 + x + 3696] + lines[9]
        tiles[c * 42 + y * 6 + x + 3696] = tiles[c * 42 + y * 6 + x + 3696] + lines[11] * -1.0
        tiles[c * 42 + y * 6 + x + 4032] = 0.0
        tiles[c * 42 + y * 6 + x + 4032] = tiles[c * 42 + y * 6 + x + 4032] + lines[12]
        tiles[c * 42 + y * 6 + x + 4032] = tiles[c * 42 + y * 6 + x + 4032] + lines[14] * -1.0
        tiles[c * 42 + y * 6 + x + 4368] = 0.0
        tiles[c * 42 + y * 6 + x + 4368] = tiles[c * 42 + y * 6 + x + 4368] + lines[13]
        tiles[c * 42 + y * 6 + x + 4368] = tiles[c * 42 + y * 6 + x + 4368] + lines[14]
        tiles[c * 42 + y * 6 + x + 4704] = 0.0
        tiles[c * 42 + y * 6 + x + 4704] = tiles[c * 42 + y * 6 + x + 4704] + lines[13] * -1.0
        tiles[c * 42 + y * 6 + x + 4704] = tiles[c * 42 + y * 6 + x + 4704] + lines[14]
        tiles[c * 42 + y * 6 + x + 5040] = 0.0
        tiles[c * 42 + y * 6 + x + 5040] = tiles[c * 42 + y * 6 + x + 5040] + lines[13]
        tiles[c * 42 + y * 6 + x + 5040] = tiles[c * 42 + y * 6 + x + 5040] + lines[15] * -1.0
    for i, j, k, p, c in T.grid(4, 4, 16, 42, 8):
        if c == 0:
            products[i * 2688 + j * 672 + k * 42 + p] = 0.0
        products[i * 2688 + j * 672 + k * 42 + p] = (
            products[i * 2688 + j * 672 + k * 42 + p]
            + filters[i * 512 + j * 128 + k * 8 + c] * tiles[i * 1344 + j * 336 + c * 42 + p]
        )
    for k, y, x in T.grid(16, 7, 6):
        # a m a^T
        sums = T.alloc_buffer((8,), "float32")
        sums[0] = 0.0
        sums[0] = sums[0] + products[k * 42 + y * 6 + x]
        sums[0] = sums[0] + products[k * 42 + y * 6 + x + 2688]
        sums[0] = sums[0] + products[k * 42 + y * 6 + x + 5376]
        sums[1] = 0.0
        sums[1] = sums[1] + products[k * 42 + y * 6 + x + 672]
        sums[1] = sums[1] + products[k * 42 + y * 6 + x + 3360]
        sums[1] = sums[1] + products[k * 42 + y * 6 + x + 6048]
        sums[2] = 0.0
        sums[2] = sums[2] + products[k * 42 + y * 6 + x + 1344]
        sums[2] = sums[2] + products[k * 42 + y * 6 + x + 4032]
        sums[2] = sums[2] + products[k * 42 + y * 6 + x + 6720]
        sums[3] = 0.0
        sums[3] = sums[3] + products[k * 42 + y * 6 + x + 2016]
        sums[3] = sums[3] + products[k * 42 + y * 6 + x + 4704]
        sums[3] = sums[3] + products[k * 42 + y * 6 + x + 7392]
        sums[4] = 0.0
        sums[4] = sums[4] + products[k * 42 + y * 6 + x + 2688]
        sums[4] = sums[4] + -1.0 * products[k * 42 + y * 6 + x + 5376]
        sums[4] = sums[4] + -1.0 * products[k * 42 + y * 6 + x + 8064]
        sums[5] = 0.0
        sums[5] = sums[5] + products[k * 42 + y * 6 + x + 3360]
        sums[5] = sums[5] + -1.0 * products[k * 42 + y * 6 + x + 6048]
        sums[5] = sums[5] + -1.0 * products[k * 42 + y * 6 + x + 8736]
        sums[6] = 0.0
        sums[6] = sums[6] + products[k * 42 + y * 6 + x + 4032]
        sums[6] = sums[6] + -1.0 * products[k * 42 + y * 6 + x + 6720]
        sums[6] = sums[6] + -1.0 * products[k * 42 + y * 6 + x + 9408]
        sums[7] = 0.0
        sums[7] = sums[7] + products[k * 42 + y * 6 + x + 4704]
        sums[7] = sums[7] + -1.0 * products[k * 42 + y * 6 + x + 7392]
        sums[7] = sums[7] + -1.0 * products[k * 42 + y * 6 + x + 10080]
        out_1[k * 168 + y * 24 + x * 2] = 0.0
        out_1[k * 168 + y * 24 + x * 2] = out_1[k * 168 + y * 24 + x * 2] + sums[0]
        out_1[k * 168 + y * 24 + x * 2] = out_1[k * 168 + y * 24 + x * 2] + sums[1]
        out_1[k * 168 + y * 24 + x * 2] = out_1[k * 168 + y * 24 + x * 2] + sums[2]
        out_1[k * 168 + y * 24 + x * 2 + 1] = 0.0
        out_1[k * 168 + y * 24 + x * 2 + 1] = out_1[k * 168 + y * 24 + x * 2 + 1] + sums[1]
        out_1[k * 168 + y * 24 + x * 2 + 1] = out_1[k * 168 + y * 24 + x * 2 + 1] + sums[2] * -1.0
        out_1[k * 168 + y * 24 + x * 2 + 1] = out_1[k * 168 + y * 24 + x * 2 + 1] + sums[3] * -1.0
        out_1[k * 168 + y * 24 + x * 2 + 12] = 0.0
        out_1[k * 168 + y * 24 + x * 2 + 12] = out_1[k * 168 + y * 24 + x * 2 + 12] + sums[4]
        out_1[k * 168 + y * 24 + x * 2 + 12] = out_1[k * 168 + y * 24 + x * 2 + 12] + sums[5]
        out_1[k * 168 + y * 24 + x * 2 + 12] = out_1[k * 168 + y * 24 + x * 2 + 12] + sums[6]
        out_1[k * 168 + y * 24 + x * 2 + 13] = 0.0
        out_1[k * 168 + y * 24 + x * 2 + 13] = out_1[k * 168 + y * 24 + x * 2 + 13] + sums[5]
        out_1[k * 168 + y * 24 + x * 2 + 13] = out_1[k * 168 + y * 24 + x * 2 + 13] + sums[6] * -1.0
        out_1[k * 168 + y * 24 + x * 2 + 13] = out_1[k * 168 + y * 24 + x * 2 + 13] + sums[7] * -1.0
