from tirscript.script import tir as T

# --- before ---


@T.prim_func
def conv2d(
    image: T.Buffer((1, 4, 14, 14), "float32"),
    weight: T.Buffer((8, 4, 3, 3), "float32"),
    out: T.Buffer((1, 8, 14, 14), "float32"),
):
    padded = T.alloc_buffer((1, 4, 16, 16), "float32")
    for n, c, y, x in T.grid(1, 4, 16, 16):
        with T.block("pad"):
            vn, vc, vy, vx = T.axis.remap("SSSS", [n, c, y, x])
            padded[vn, vc, vy, vx] = (
                image[vn, vc, vy - 1, vx - 1]
                if 1 <= vy and vy <= 14 and 1 <= vx and vx <= 14
                else 0.0
            )
    for n, k, y, x, c, dy, dx in T.grid(1, 8, 14, 14, 4, 3, 3):
        with T.block("conv"):
            vn, vk, vy, vx, vc, vdy, vdx = T.axis.remap("SSSSRRR", [n, k, y, x, c, dy, dx])
            with T.init():
                out[vn, vk, vy, vx] = 0.0
            out[vn, vk, vy, vx] = (
                out[vn, vk, vy, vx] + padded[vn, vc, vy + vdy, vx + vdx] * weight[vk, vc, vdy, vdx]
            )


# --- after lowered ---


@T.prim_func
def conv2d(
    image: T.Buffer((1, 4, 14, 14), "float32"),
    weight: T.Buffer((8, 4, 3, 3), "float32"),
    out: T.Buffer((1, 8, 14, 14), "float32"),
):
    image_1 = T.decl_buffer((784,), "float32", data=image.data)
    weight_1 = T.decl_buffer((288,), "float32", data=weight.data)
    out_1 = T.decl_buffer((1568,), "float32", data=out.data)
    padded = T.alloc_buffer((1024,), "float32")
    for c, y, x in T.grid(4, 16, 16):
        padded[c * 256 + y * 16 + x] = (
            image_1[c * 196 + y * 14 + x - 15] if 1 <= y and y <= 14 and 1 <= x and x <= 14 else 0.0
        )
    for k, y, x, c, dy, dx in T.grid(8, 14, 14, 4, 3, 3):
        if c == 0 and dy == 0 and dx == 0:
            out_1[k * 196 + y * 14 + x] = 0.0
        out_1[k * 196 + y * 14 + x] = (
            out_1[k * 196 + y * 14 + x]
            + padded[c * 256 + y * 16 + dy * 16 + x + dx] * weight_1[k * 36 + c * 9 + dy * 3 + dx]
        )
