/* The files of share/web as they are; CMake names them. */
    .section .rodata

    .global assay_web_script
    .global assay_web_script_end
assay_web_script:
    .incbin WEB_SCRIPT
assay_web_script_end:

    .global assay_web_style
    .global assay_web_style_end
assay_web_style:
    .incbin WEB_STYLE
assay_web_style_end:

    .global assay_web_hashes
    .global assay_web_hashes_end
assay_web_hashes:
    .incbin WEB_HASHES
assay_web_hashes_end:

    .section .note.GNU-stack, "", %progbits
